#include <string>

#include "core/kernels/cuda/interface/plugin.h"

extern "C" const char* quotient_cuda_build_id() {
  static const std::string id = quotient::kernels::cuda::PluginBuildId();
  return id.c_str();
}

extern "C" quotient::kernels::cuda::Plugin* quotient_cuda_new_plugin() { return nullptr; }
