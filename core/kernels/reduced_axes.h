#pragma once

// The axes of reductions: Reduce*, ArgMax, ArgMin and pools over whole images.

#include <cstdint>
#include <vector>

#include "core/kernels/kernel_spec.h"

namespace quotient::kernels {

// By axis of the input. All false for scalars and with `noop_with_empty_axes`.
std::vector<bool> ReducedAxes(const KernelSpec& spec);

// The output's stride along each axis of the input, 0 for reduced ones.
std::vector<int64_t> ReducedStrides(const KernelSpec& spec, const std::vector<bool>& reduced);

}  // namespace quotient::kernels
