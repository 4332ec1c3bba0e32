// The exports of the shared library, and what it does before there is a GPU.

#include "core/kernels/cuda/interface/plugin.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/plugin/cuda_gpu.h"
#include "core/kernels/cuda/plugin/cudnn.h"
#include "core/kernels/cuda/plugin/cudnn_checker.h"
#include "core/kernels/cuda/plugin/device.h"
#include "core/kernels/cuda/plugin/no_throw.h"
#include "core/kernels/cuda/plugin/nvrtc.h"

namespace quotient::kernels::cuda {

namespace {

// cuDNN opens parts of itself when they are first needed.
absl::string_view BeginningOf(absl::string_view message) {
  if (absl::StrContains(message, "SUBLIBRARY_VERSION_MISMATCH")) return kSymbolMissing;
  return absl::StrContains(message, "SUBLIBRARY_LOADING_FAILED") ? kLibraryMissing : "";
}

class CudaPlugin : public Plugin {
 public:
  absl::StatusOr<std::unique_ptr<Gpu>> OpenGpu(int ordinal, const std::string& tf32_override,
                                               CodeCache* cache) override {
    return NoThrow([&]() -> absl::StatusOr<std::unique_ptr<Gpu>> {
      QUOTIENT_RETURN_IF_ERROR(CheckDevice(ordinal));
      QUOTIENT_RETURN_IF_ERROR(CheckCudnn());
      absl::StatusOr<std::unique_ptr<Gpu>> gpu = OpenCudaGpu(ordinal, tf32_override, cache);
      if (gpu.ok() || GetReason(gpu.status()) == Reason::kDeviceLost) return gpu;
      // A missing library part, no memory or a failed GPU: the GPU cannot be used in any case.
      const std::string message(gpu.status().message());
      return MakeError(
          Reason::kDeviceNotPresent,
          absl::StrCat(BeginningOf(message), "GPU number ", ordinal, " cannot be used: ", message));
    });
  }

  absl::StatusOr<std::unique_ptr<DnnChecker>> NewDnnChecker(const std::string& properties_json,
                                                            int compute_capability,
                                                            CodeCache* cache) override {
    return NoThrow([&]() -> absl::StatusOr<std::unique_ptr<DnnChecker>> {
      QUOTIENT_RETURN_IF_ERROR(CheckCudnn());
      return quotient::kernels::cuda::NewDnnChecker(properties_json, compute_capability, cache);
    });
  }

  absl::StatusOr<std::string> CompileSource(const SourceKernel& kernel, int compute_capability,
                                            CodeCache* cache) override {
    return NoThrow([&] { return CompileToCubin(kernel, compute_capability, cache); });
  }
};

}  // namespace

}  // namespace quotient::kernels::cuda

#define QUOTIENT_EXPORT extern "C" __attribute__((visibility("default")))

QUOTIENT_EXPORT const char* quotient_cuda_build_id() {
  static const std::string id = quotient::kernels::cuda::PluginBuildId();
  return id.c_str();
}

QUOTIENT_EXPORT quotient::kernels::cuda::Plugin* quotient_cuda_new_plugin() {
  return new quotient::kernels::cuda::CudaPlugin();
}
