#pragma once

// One of Quotient's own kernels: CUDA C++ text made for one KernelSpec by the generators in
// source/.

#include <cstdint>
#include <string>
#include <vector>

namespace quotient::kernels::cuda {

struct SourceKernel {
  // A complete translation unit without includes, for NVRTC, or for a host compiler with
  // tests/support/cuda/emulation.h in front. Sizes are numbers in the text.
  std::string source;
  // The function extern "C" __global__ void name(T0* b0, T1* b1, ...), with pointers only.
  std::string name;
  int64_t grid = 1;  // Blocks along x; at most 2^31 - 1.
  int block = 1;     // Threads along x; at most 1024.
  // Static shared memory is declared in the source.
  int num_buffers = 0;

  friend bool operator==(const SourceKernel&, const SourceKernel&) = default;
};

// A way in which a library can run something, and what is known about it in advance.
struct LibraryPlan {
  std::string name;  // See Gpu::Plans.
  int64_t workspace_bytes = 0;
  // Rounds float32 operands to TF32 (or less). Never set with strict32.
  bool tensor_cores = false;
  bool compiled_at_run_time = false;
};

}  // namespace quotient::kernels::cuda
