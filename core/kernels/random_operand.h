#pragma once

// Inputs to time a kernel with.

#include <cstddef>

#include "core/base/rng.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"

namespace quotient::kernels {

// A tensor for operand `index` of AllOperands(spec): floats uniform in [-1, 1), indices that are in
// range and where they say what to write name it once, other integers small and positive.
model::Tensor RandomOperand(const KernelSpec& spec, size_t index, Rng& rng);

}  // namespace quotient::kernels
