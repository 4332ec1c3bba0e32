#pragma once

// The scale and the zero point of QuantizeLinear and DequantizeLinear, as kernels read them.

#include "core/kernels/kernel_spec.h"

namespace quotient::kernels {

// Whether the spec, of one of the two operators, has a zero point. Without one it is 0.
bool HasZeroPoint(const KernelSpec& spec);

// Input 1 or 2 of such a spec in the shape in which it is broadcast to the output: [3,1,1] for the
// channels of an image.
Operand BroadcastSteps(const KernelSpec& spec, size_t input);

}  // namespace quotient::kernels
