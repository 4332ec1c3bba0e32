#pragma once

// NVRTC: CUDA C++ to machine code, without a GPU.

#include <string>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/code_cache.h"
#include "core/kernels/cuda/source_kernel.h"

namespace quotient::kernels::cuda {

// 13000 for 13.0; 0 if NVRTC does not say.
int NvrtcVersion();

// A cubin for "sm_<compute_capability>". INVALID_ARGUMENT with the compiler's log. Thread-safe;
// some 30 to 100 ms for what the cache (null: none) does not have.
absl::StatusOr<std::string> CompileToCubin(const SourceKernel& kernel, int compute_capability,
                                           CodeCache* cache);

}  // namespace quotient::kernels::cuda
