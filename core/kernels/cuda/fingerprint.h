#pragma once

#include "core/kernels/backend.h"
#include "core/kernels/cuda/gpu.h"
#include "core/kernels/cuda/matmul_problem.h"

namespace quotient::kernels::cuda {

// Goes up when kernels of ours change, or what there is besides: timings of older ones are not
// taken for theirs then, nor the best of fewer ways for the best.
inline constexpr int kKernelsVersion = 3;

// "strict32", "tf32"
const char* PolicyName(MathPolicy policy);

// Everything that makes timings on this GPU comparable: hardware, clocks, driver, libraries, math
// policy, our own kernels.
DeviceFingerprint GpuFingerprint(const GpuFacts& facts, MathPolicy policy);

}  // namespace quotient::kernels::cuda
