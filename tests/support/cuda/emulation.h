#pragma once

// The part of CUDA C++ that our kernels use, for a host compiler, so that the kernels can run
// without a GPU. It is put before their texts. emulator.cc has the other side.

#include <math.h>
#include <stddef.h>

#include <utility>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
// One block runs at a time, so shared memory can be static.
#define __shared__ static

namespace quotient_emulation {

struct Dim3 {
  unsigned int x = 1, y = 1, z = 1;
};

// The position of the running thread.
struct Place {
  Dim3 thread, block, block_dim, grid_dim;
  // Returns when all threads of the block have called it.
  void (*barrier)() = nullptr;
};
extern "C" Place quotient_emulation_place;

// Calls a kernel whose parameters are pointers.
template <typename... T, size_t... index>
void Call(void (*kernel)(T*...), void* const* buffers, std::index_sequence<index...>) {
  kernel(static_cast<T*>(buffers[index])...);
}
template <typename... T>
void Call(void (*kernel)(T*...), void* const* buffers) {
  Call(kernel, buffers, std::index_sequence_for<T...>());
}

}  // namespace quotient_emulation

#define threadIdx (quotient_emulation::quotient_emulation_place.thread)
#define blockIdx (quotient_emulation::quotient_emulation_place.block)
#define blockDim (quotient_emulation::quotient_emulation_place.block_dim)
#define gridDim (quotient_emulation::quotient_emulation_place.grid_dim)
#define __syncthreads() (quotient_emulation::quotient_emulation_place.barrier())
