// What the shared library exports, and what it does before there is a GPU.

#include "core/kernels/cuda/plugin.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
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

class CudaPlugin : public Plugin {
 public:
  absl::StatusOr<std::unique_ptr<Gpu>> OpenGpu(int ordinal, CodeCache* cache) override {
    return NoThrow([&]() -> absl::StatusOr<std::unique_ptr<Gpu>> {
      QUOTIENT_RETURN_IF_ERROR(CheckDevice(ordinal));
      QUOTIENT_RETURN_IF_ERROR(CheckCudnn());
      absl::StatusOr<std::unique_ptr<Gpu>> gpu = OpenCudaGpu(ordinal, cache);
      if (gpu.ok() || GetReason(gpu.status()) == Reason::kDeviceLost) return gpu;
      // Part of a library missing, no memory left, a GPU that failed: of no use in any case.
      return MakeError(Reason::kDeviceNotPresent,
                       absl::StrCat("GPU number ", ordinal,
                                    " cannot be used: ", std::string(gpu.status().message())));
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
