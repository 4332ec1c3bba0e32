#include "core/kernels/cuda/plugin/cuda_gpu.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/kernels/cuda/plugin/capture.h"
#include "core/kernels/cuda/plugin/cublaslt.h"
#include "core/kernels/cuda/plugin/cudnn.h"
#include "core/kernels/cuda/plugin/cudnn_device.h"
#include "core/kernels/cuda/plugin/device.h"
#include "core/kernels/cuda/plugin/host_call.h"
#include "core/kernels/cuda/plugin/no_throw.h"
#include "core/kernels/cuda/plugin/nvrtc.h"
#include "core/kernels/cuda/plugin/source_launcher.h"

namespace quotient::kernels::cuda {

namespace {

// Each function on its own thread's device, with nothing thrown, and with an eye on the GPU's
// health.
class CudaGpu : public Gpu {
 public:
  CudaGpu(GpuFacts facts, std::unique_ptr<Device> device, std::unique_ptr<CublasLt> blas,
          std::unique_ptr<CudnnDevice> dnn, CodeCache* cache)
      : facts_(std::move(facts)),
        device_(std::move(device)),
        blas_(std::move(blas)),
        dnn_(std::move(dnn)),
        cache_(cache),
        capturer_(*device_) {}
  // What the libraries hold is freed on the device that is selected.
  ~CudaGpu() override { device_->Select().IgnoreError(); }

  const GpuFacts& facts() const override { return facts_; }
  absl::Status health() const override { return device_->health(); }

  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t bytes) override {
    return OnDevice([&] { return device_->Allocate(bytes); });
  }
  absl::Status Upload(DeviceAddress to, const void* from, int64_t bytes) override {
    return OnDevice([&] { return device_->Upload(to, from, bytes); });
  }
  absl::Status Download(void* to, DeviceAddress from, int64_t bytes) override {
    return OnDevice([&] { return device_->Download(to, from, bytes); });
  }

  absl::StatusOr<std::vector<LibraryPlan>> Plans(const MatmulProblem& problem) override {
    return OnDevice([&] { return blas_->Plans(problem); });
  }
  absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) override {
    return OnDevice([&] { return dnn_->Plans(graph); });
  }

  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const SourceKernel& kernel) override {
    return OnDevice([&]() -> absl::StatusOr<std::unique_ptr<Launcher>> {
      QUOTIENT_ASSIGN_OR_RETURN(const std::string cubin,
                                CompileToCubin(kernel, facts_.compute_capability, cache_));
      return LoadCubin(kernel, cubin);
    });
  }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const MatmulProblem& problem,
                                                    const std::string& plan) override {
    return OnDevice([&] { return blas_->Prepare(problem, plan); });
  }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const DnnGraph& graph,
                                                    const std::string& plan) override {
    return OnDevice([&] { return dnn_->Prepare(graph, plan); });
  }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(HostCall call) override {
    return OnDevice([&] { return PrepareHostCall(std::move(call)); });
  }

  absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps) override {
    return OnDevice([&] { return capturer_.Capture(steps); });
  }

 private:
  template <typename Work>
  auto OnDevice(Work&& work) -> decltype(work()) {
    return device_->Watch(NoThrow([&]() -> decltype(work()) {
      QUOTIENT_RETURN_IF_ERROR(device_->Select());
      return work();
    }));
  }

  const GpuFacts facts_;
  const std::unique_ptr<Device> device_;
  const std::unique_ptr<CublasLt> blas_;
  const std::unique_ptr<CudnnDevice> dnn_;
  CodeCache* const cache_;  // may be null
  Capturer capturer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Gpu>> OpenCudaGpu(int ordinal, CodeCache* cache) {
  QUOTIENT_ASSIGN_OR_RETURN(auto device, Device::Open(ordinal));
  QUOTIENT_ASSIGN_OR_RETURN(GpuFacts facts, device->Facts());
  QUOTIENT_ASSIGN_OR_RETURN(auto blas, CublasLt::Create());
  QUOTIENT_ASSIGN_OR_RETURN(auto dnn, CudnnDevice::Create(ordinal, facts, cache));
  facts.cudnn_version = CudnnVersion();
  facts.cublaslt_version = CublasLtVersion();
  facts.nvrtc_version = NvrtcVersion();
  QUOTIENT_ASSIGN_OR_RETURN(facts.properties_json, dnn->PropertiesJson());
  return std::make_unique<CudaGpu>(std::move(facts), std::move(device), std::move(blas),
                                   std::move(dnn), cache);
}

}  // namespace quotient::kernels::cuda
