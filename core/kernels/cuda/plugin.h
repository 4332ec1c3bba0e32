#pragma once

// Finds and loads the CUDA plug-in, libquotient_cuda.so: what needs CUDA's libraries lives there,
// so that one program runs on hosts with and without them.

#include <string>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/gpu.h"

namespace quotient::kernels::cuda {

// What the shared library exports, as extern "C". The build id is compared before anything else is
// called: Plugin is a C++ interface.
inline constexpr char kBuildIdSymbol[] = "quotient_cuda_build_id";      // const char* ()
inline constexpr char kNewPluginSymbol[] = "quotient_cuda_new_plugin";  // Plugin* (); the caller's

// How messages of LoadPlugin and OpenGpu begin, after which it is told what is missing. A driver or
// a GPU that is missing has neither beginning.
inline constexpr char kLibraryMissing[] = "a library that the CUDA plug-in needs is missing: ";
inline constexpr char kSymbolMissing[] =
    "a library that the CUDA plug-in needs is there in another version: ";

// Names version and compiler: what has to be the same on both sides.
std::string PluginBuildId();

// Loads the plug-in at the first call, whose outcome stays; it is never unloaded. From
// $QUOTIENT_CUDA_PLUGIN if that is set, else from beside the program, or ../lib from there.
// DEVICE_NOT_PRESENT where there is none, or where a library that it needs (cuDNN, cuBLASLt, NVRTC)
// is missing or too old: the message names it. Thread-safe.
absl::StatusOr<Plugin*> LoadPlugin();

// What LoadPlugin does once it has found the file. DEVICE_NOT_PRESENT, too, if that is no plug-in
// or one of another build. The plug-in lives as long as the process.
absl::StatusOr<Plugin*> LoadPluginFrom(const std::string& path);

}  // namespace quotient::kernels::cuda
