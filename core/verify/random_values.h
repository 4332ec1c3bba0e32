#pragma once

// Draws the elements of one input.

#include <cstdint>
#include <vector>

#include "core/base/rng.h"
#include "core/model/shape.h"
#include "core/verify/demands.h"
#include "core/verify/random_inputs.h"
#include "core/verify/thresholds.h"

namespace quotient::verify {

// What determines the elements of an input beside its type. All references are borrowed.
struct Source {
  const Draw& draw;
  const Demand& demand;
  const Thresholds& thresholds;
  const Turn& turn;
  uint64_t input;  // Its position among the inputs.
};

// The number of elements that are one row: those along the last axis.
int64_t RowLength(const model::TensorType& type);

// One number per element of an input of floats. draw.magnitude is not 0.
std::vector<double> WideFloats(const model::TensorType& type, const Source& source, Rng& rng);

// One number per element of an input of integers or booleans.
std::vector<int64_t> RandomIntegers(const model::TensorType& type, const Source& source, Rng& rng);

// The first so many rows are of all kinds, and every kind of element occurs once in so many.
inline constexpr int64_t kKindsOfRows = 4;
inline constexpr int64_t kKindsOfFloats = 16;
inline constexpr int64_t kKindsOfIntegers = 8;

}  // namespace quotient::verify
