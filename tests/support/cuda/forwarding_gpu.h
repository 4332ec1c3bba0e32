#pragma once

// Forwards to another GPU, if not given to the emulated one. Tests override functions that shall
// behave differently.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/kernels/cuda/interface/gpu.h"
#include "tests/support/cuda/host_gpu.h"

namespace quotient::kernels::cuda {

class ForwardingGpu : public Gpu {
 public:
  explicit ForwardingGpu(std::unique_ptr<Gpu> gpu = NewHostGpu()) : gpu_(std::move(gpu)) {}

  const GpuFacts& facts() const override { return gpu_->facts(); }
  absl::Status health() const override { return gpu_->health(); }
  int ClockMhz() override { return gpu_->ClockMhz(); }
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t bytes) override {
    return gpu_->Allocate(bytes);
  }
  absl::Status Upload(DeviceAddress to, const void* from, int64_t bytes) override {
    return gpu_->Upload(to, from, bytes);
  }
  absl::Status Download(void* to, DeviceAddress from, int64_t bytes) override {
    return gpu_->Download(to, from, bytes);
  }
  absl::StatusOr<std::vector<LibraryPlan>> Plans(const MatmulProblem& problem) override {
    return gpu_->Plans(problem);
  }
  absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) override {
    return gpu_->Plans(graph);
  }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const SourceKernel& kernel) override {
    return gpu_->Prepare(kernel);
  }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const MatmulProblem& problem,
                                                    const std::string& plan) override {
    return gpu_->Prepare(problem, plan);
  }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const DnnGraph& graph,
                                                    const std::string& plan) override {
    return gpu_->Prepare(graph, plan);
  }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(HostCall call) override {
    return gpu_->Prepare(std::move(call));
  }
  absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps) override {
    return gpu_->Capture(steps);
  }

 private:
  const std::unique_ptr<Gpu> gpu_;
};

}  // namespace quotient::kernels::cuda
