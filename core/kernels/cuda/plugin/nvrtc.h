#pragma once

// NVRTC compiles CUDA C++ to machine code without a GPU.

#include <string>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/code_cache.h"
#include "core/kernels/cuda/interface/source_kernel.h"

namespace quotient::kernels::cuda {

// 13000 means 13.0; 0 if NVRTC does not report it.
int NvrtcVersion();

// A cubin for "sm_<compute_capability>". Fails with INVALID_ARGUMENT and the compiler's log. Takes
// some 30 to 100 ms if the cache, which may be null, does not have it. Thread-safe.
absl::StatusOr<std::string> CompileToCubin(const SourceKernel& kernel, int compute_capability,
                                           CodeCache* cache);

}  // namespace quotient::kernels::cuda
