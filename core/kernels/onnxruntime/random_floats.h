#pragma once

// Operands for timing kernels in ONNX Runtime.

#include "core/base/rng.h"
#include "core/model/tensor.h"

namespace quotient::kernels::onnxruntime {

// A tensor of a static float type with elements between -`most` and `most`, of which about
// `subnormal_share` are subnormal numbers. The elements repeat after some thousands, because
// drawing them takes longer than all else.
model::Tensor RandomFloats(const model::TensorType& type, double most, double subnormal_share,
                           Rng& rng);

// `most` for constants: about as large as trained weights, so that sums over them stay near 1.
// Functions of larger sums may be subnormal numbers, which take many times as long.
inline constexpr double kMostWeight = 0.125;

}  // namespace quotient::kernels::onnxruntime
