#pragma once

// Where buffers that share an allocation may begin.

#include <cstdint>

namespace quotient::kernels {

// What kernels want of a buffer; of CPUs 64 would do, GPUs' libraries ask for more.
constexpr int64_t kAlignment = 256;

inline int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace quotient::kernels
