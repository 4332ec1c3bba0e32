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

// Every function selects the device for its thread, lets nothing throw, and records whether the GPU
// is lost.
class CudaGpu : public Gpu {
 public:
  CudaGpu(std::unique_ptr<Device> device, CodeCache* cache)
      : device_(std::move(device)), cache_(cache), capturer_(*device_) {}

  // Call after Device::Open, with the device selected.
  absl::Status Open(const std::string& tf32_override) {
    QUOTIENT_ASSIGN_OR_RETURN(facts_, device_->Facts());
    facts_.tf32_override = tf32_override;
    QUOTIENT_ASSIGN_OR_RETURN(blas_, CublasLt::Create());
    QUOTIENT_ASSIGN_OR_RETURN(
        dnn_, CudnnDevice::Create(device_->ordinal(), facts_, cache_, capturer_.capturing()));
    facts_.cudnn_version = CudnnVersion();
    facts_.cudnn_cuda_version = CudaVersionOfCudnn();
    facts_.cublaslt_version = CublasLtVersion();
    facts_.nvrtc_version = NvrtcVersion();
    facts_.properties_json = dnn_->PropertiesJson().value_or("");  // Only checks need it.
    return absl::OkStatus();
  }

  // What the libraries hold is freed on the selected device.
  ~CudaGpu() override { device_->Select().IgnoreError(); }

  const GpuFacts& facts() const override { return facts_; }
  absl::Status health() const override { return device_->health(); }
  int ClockMhz() override { return device_->nvml() != nullptr ? device_->nvml()->ClockMhz() : 0; }

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

  // Members are destroyed in reverse order: the libraries' handles before the streams that they
  // were last given, and these before the device.
  const std::unique_ptr<Device> device_;
  CodeCache* const cache_;  // May be null.
  Capturer capturer_;
  // --- Constant after Open
  GpuFacts facts_;
  std::unique_ptr<CublasLt> blas_;
  std::unique_ptr<CudnnDevice> dnn_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Gpu>> OpenCudaGpu(int ordinal, const std::string& tf32_override,
                                                 CodeCache* cache) {
  QUOTIENT_ASSIGN_OR_RETURN(auto device, Device::Open(ordinal));
  auto gpu = std::make_unique<CudaGpu>(std::move(device), cache);
  QUOTIENT_RETURN_IF_ERROR(gpu->Open(tf32_override));
  return gpu;
}

}  // namespace quotient::kernels::cuda
