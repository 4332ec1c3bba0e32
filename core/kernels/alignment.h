#pragma once

// Alignment of buffers that share an allocation.

#include <cstdint>

namespace quotient::kernels {

// The alignment that kernels want. 64 would do for CPUs; GPU libraries ask for more.
constexpr int64_t kAlignment = 256;

inline int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace quotient::kernels
