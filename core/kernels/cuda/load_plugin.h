#pragma once

// Finds and loads the CUDA plug-in, libquotient_cuda.so.

#include <string>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/gpu.h"

namespace quotient::kernels::cuda {

// The environment variable by which users name the plug-in's file.
inline constexpr char kPluginVariable[] = "QUOTIENT_CUDA_PLUGIN";

// Loads the plug-in at the first call, and returns the same result from then on; the plug-in is
// never unloaded. Loads the file `named` ($QUOTIENT_CUDA_PLUGIN) if that is not "", otherwise
// the one in the folder of the program or in ../lib. Fails with DEVICE_NOT_PRESENT if there is
// none, or if a library that it needs (cuDNN, cuBLASLt, NVRTC) is missing or too old; the message
// names the library. Thread-safe.
absl::StatusOr<Plugin*> LoadPlugin(const std::string& named);

// Loads the plug-in from this file. Also fails with DEVICE_NOT_PRESENT if it is not a plug-in, or
// one of another build. The plug-in lives as long as the process.
absl::StatusOr<Plugin*> LoadPluginFrom(const std::string& path);

}  // namespace quotient::kernels::cuda
