#include "tests/core/kernels/cuda/plugin/plugin_under_test.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/kernels/cuda/load_plugin.h"

namespace quotient::kernels::cuda {

namespace {

template <typename T>
T ValueOrDie(absl::StatusOr<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
    std::abort();
  }
  return *std::move(result);
}

}  // namespace

Plugin& PluginUnderTest() { return *ValueOrDie(LoadPlugin("")); }

std::unique_ptr<DnnChecker> H200Checker(CodeCache* cache) {
  std::stringstream properties;
  properties << std::ifstream("tests/data/cuda/h200_properties.json").rdbuf();
  return ValueOrDie(PluginUnderTest().NewDnnChecker(properties.str(), 90, cache));
}

bool LoadDriverOrStub() {
  // By its name to the dynamic linker, under which cuDNN asks for it.
  return dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr ||
         dlopen(QUOTIENT_CUDA_STUBS "/libcuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr;
}

}  // namespace quotient::kernels::cuda
