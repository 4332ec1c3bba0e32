#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/interface/plugin.h"

namespace quotient::kernels::cuda {

std::string PluginBuildId() {
#if defined(__clang__)
  constexpr char kCompiler[] = "clang " __clang_version__;
#else
  constexpr char kCompiler[] = "gcc " __VERSION__;
#endif
  return absl::StrCat("Quotient " QUOTIENT_VERSION ", interface " QUOTIENT_CUDA_INTERFACE ", ",
                      kCompiler);
}

}  // namespace quotient::kernels::cuda
