#pragma once

// Reduction of a tensor along axes, for the Reduce operators and the global pools.

#include "core/model/attribute.h"
#include "core/model/shape.h"
#include "core/model/tensor.h"

namespace quotient::ops {

enum class Reduction {
  kSum,
  kMean,
  kMax,
  kMin,
  kProd,
  kL1,
  kL2,
  kSumSquare,
  kLogSum,
  kLogSumExp,
};

// Reduces along `axes` (sorted, non-negative) to a tensor of type `output`, which may keep the axes
// as 1 or drop them. Floats are accumulated in double, integers exactly (modulo 2^64), in the order
// of the elements.
model::Tensor Reduce(Reduction reduction, const model::Tensor& input, const model::Ints& axes,
                     const model::TensorType& output, int threads);

}  // namespace quotient::ops
