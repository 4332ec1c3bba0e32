#pragma once

// How the program and the CUDA plug-in, libquotient_cuda.so, find each other. Everything that needs
// CUDA's libraries is in the plug-in, so one program runs on hosts with and without them.

#include <string>

#include "core/kernels/cuda/interface/gpu.h"

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

}  // namespace quotient::kernels::cuda
