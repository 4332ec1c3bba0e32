#include "core/kernels/cuda/plugin/cudnn_device.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/plugin/cudnn.h"
#include "core/kernels/cuda/plugin/cudnn_handles.h"
#include "core/kernels/cuda/plugin/cudnn_status.h"
#include "core/kernels/cuda/plugin/launcher.h"

namespace quotient::kernels::cuda {

namespace {

class DnnLauncher : public StreamLauncher {
 public:
  DnnLauncher(std::unique_ptr<CudnnPlan> plan, HandlePool& handles, int64_t workspace_bytes)
      : plan_(std::move(plan)), handles_(handles), workspace_bytes_(workspace_bytes) {}

  int64_t workspace_bytes() const override { return workspace_bytes_; }

  absl::Status Enqueue(const Step& step, cudaStream_t stream) const override {
    const cudnnHandle_t handle = handles_.for_launches();
    QUOTIENT_RETURN_IF_ERROR(CudnnStatus(cudnnSetStream(handle, stream), "cudnnSetStream"));
    std::vector<void*> buffers;
    for (const DeviceAddress address : step.buffers) {
      buffers.push_back(reinterpret_cast<void*>(address));
    }
    return plan_->Execute(handle, buffers, reinterpret_cast<void*>(step.workspace));
  }

 private:
  const std::unique_ptr<CudnnPlan> plan_;
  HandlePool& handles_;
  const int64_t workspace_bytes_;
};

class OpenCudnn : public CudnnDevice {
 public:
  OpenCudnn(int ordinal, const GpuFacts& facts, CodeCache* cache, absl::Mutex* capturing)
      : ordinal_(ordinal),
        device_{.compute_capability = facts.compute_capability,
                .cache = cache,
                .device = absl::StrCat(facts.name, " sm_", facts.compute_capability, ", ",
                                       facts.processors, " processors, TF32 override '",
                                       facts.tf32_override, "'")},
        handles_(capturing) {}

  // Makes a handle now, so that a missing library is reported here and not later.
  absl::Status Open() { return handles_.Open(); }

  absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) override {
    QUOTIENT_ASSIGN_OR_RETURN(const HandleLease handle, HandleLease::Of(handles_));
    return FindPlans(graph, ThisDevice(handle));
  }

  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const DnnGraph& graph,
                                                    const std::string& plan) override {
    QUOTIENT_ASSIGN_OR_RETURN(const HandleLease handle, HandleLease::Of(handles_));
    QUOTIENT_ASSIGN_OR_RETURN(auto built, BuildPlan(graph, plan, ThisDevice(handle)));
    QUOTIENT_ASSIGN_OR_RETURN(const int64_t bytes, built->WorkspaceBytes());
    return std::make_unique<DnnLauncher>(std::move(built), handles_, bytes);
  }

  absl::StatusOr<std::string> PropertiesJson() override { return DescribeDevice(ordinal_); }

 private:
  CudnnTarget ThisDevice(const HandleLease& handle) const {
    CudnnTarget target = device_;
    target.handle = handle.get();
    return target;
  }

  const int ordinal_;
  const CudnnTarget device_;  // Without a handle.
  HandlePool handles_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CudnnDevice>> CudnnDevice::Create(int ordinal, const GpuFacts& facts,
                                                                 CodeCache* cache,
                                                                 absl::Mutex* capturing) {
  auto cudnn = std::make_unique<OpenCudnn>(ordinal, facts, cache, capturing);
  QUOTIENT_RETURN_IF_ERROR(cudnn->Open());
  return cudnn;
}

}  // namespace quotient::kernels::cuda
