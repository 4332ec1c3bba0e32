#pragma once

// Random inputs for timing kernels.

#include <cstddef>

#include "core/base/rng.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"

namespace quotient::kernels {

// A tensor for operand `index` of AllOperands(spec): floats are uniform in [-1, 1); indices are in
// range, and distinct if they select what is written; other integers are small and positive.
model::Tensor RandomOperand(const KernelSpec& spec, size_t index, Rng& rng);

}  // namespace quotient::kernels
