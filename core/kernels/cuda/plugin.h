#pragma once

// Finds and loads the CUDA plug-in, libquotient_cuda.so. Everything that needs CUDA's libraries is
// in it, so one program runs on hosts with and without them.

#include <string>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/gpu.h"

namespace quotient::kernels::cuda {

// The symbols that the shared library exports as extern "C". The build id is compared before
// anything else is called, because Plugin is a C++ interface. The caller owns the Plugin.
inline constexpr char kBuildIdSymbol[] = "quotient_cuda_build_id";      // const char* ()
inline constexpr char kNewPluginSymbol[] = "quotient_cuda_new_plugin";  // Plugin* ()

// The beginnings of messages of LoadPlugin and OpenGpu, which continue with what is missing.
// Messages about a missing driver or GPU have neither.
inline constexpr char kLibraryMissing[] = "a library that the CUDA plug-in needs is missing: ";
inline constexpr char kSymbolMissing[] =
    "a library that the CUDA plug-in needs is there in another version: ";

// Names version and compiler, which must be the same on both sides.
std::string PluginBuildId();

// Loads the plug-in at the first call, and returns the same result from then on; the plug-in is
// never unloaded. Loads it from $QUOTIENT_CUDA_PLUGIN if that is set, otherwise from the folder of
// the program or from ../lib. Fails with DEVICE_NOT_PRESENT if there is none, or if a library that
// it needs (cuDNN, cuBLASLt, NVRTC) is missing or too old; the message names the library.
// Thread-safe.
absl::StatusOr<Plugin*> LoadPlugin();

// Loads the plug-in from this file. Also fails with DEVICE_NOT_PRESENT if it is not a plug-in, or
// one of another build. The plug-in lives as long as the process.
absl::StatusOr<Plugin*> LoadPluginFrom(const std::string& path);

}  // namespace quotient::kernels::cuda
