#pragma once

#include "core/kernels/backend.h"
#include "core/kernels/cuda/gpu.h"
#include "core/kernels/cuda/matmul_problem.h"

namespace quotient::kernels::cuda {

// Increased when Quotient's kernels, or the set of ways to run kernels, change. Older timings are
// then not used.
inline constexpr int kKernelsVersion = 3;

// "strict32" or "tf32".
const char* PolicyName(MathPolicy policy);

// Everything that timings on this GPU depend on: hardware, clocks, driver, libraries, math policy,
// Quotient's own kernels.
DeviceFingerprint GpuFingerprint(const GpuFacts& facts, MathPolicy policy);

}  // namespace quotient::kernels::cuda
