#pragma once

// A kernel of ours: CUDA C++ as text, made for one KernelSpec by the generators in source/.

#include <cstdint>
#include <string>
#include <vector>

namespace quotient::kernels::cuda {

struct SourceKernel {
  // Complete translation unit without includes: what NVRTC compiles, and a host compiler with
  // tests/support/cuda/emulation.h in front. Sizes are numbers in the text.
  std::string source;
  // The function: extern "C" __global__ void name(T0* b0, T1* b1, ...), pointers only.
  std::string name;
  int64_t grid = 1;  // blocks, along x alone; at most 2^31 - 1
  int block = 1;     // threads, along x alone; at most 1024
  // Static shared memory is declared in the source.
  int num_buffers = 0;

  friend bool operator==(const SourceKernel&, const SourceKernel&) = default;
};

// How a library runs something, and what is known about it beforehand.
struct LibraryPlan {
  std::string name;  // see Gpu::Plans
  int64_t workspace_bytes = 0;
  // Rounds float32 operands to TF32 (or less); never with strict32.
  bool tensor_cores = false;
  bool compiled_at_run_time = false;
};

}  // namespace quotient::kernels::cuda
