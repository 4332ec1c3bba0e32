#include "core/kernels/cuda/plugin/cudnn_checker.h"

#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/kernels/cuda/plugin/cudnn.h"
#include "core/kernels/cuda/plugin/no_throw.h"

namespace quotient::kernels::cuda {

namespace {

class DescribedDevice : public DnnChecker {
 public:
  explicit DescribedDevice(CudnnTarget target) : target_(std::move(target)) {}

  absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) override {
    return NoThrow([&] { return FindPlans(graph, target_); });
  }
  absl::Status Build(const DnnGraph& graph, const std::string& plan) override {
    const absl::Status status = NoThrow([&] { return BuildPlan(graph, plan, target_).status(); });
    // cuDNN loads the code that it has compiled; only this fails without a driver.
    const bool only_loading_failed =
        status.message().find("CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER") != std::string::npos;
    return only_loading_failed ? absl::OkStatus() : status;
  }
  absl::Status ExecuteWithoutHandle(const DnnGraph& graph, const std::string& plan,
                                    int buffers) override {
    return NoThrow([&]() -> absl::Status {
      QUOTIENT_ASSIGN_OR_RETURN(const auto built, BuildPlan(graph, plan, target_));
      // Addresses that are aligned, different, and never read, because nothing reaches the device.
      std::vector<void*> addresses;
      for (int i = 1; i <= buffers; ++i) addresses.push_back(reinterpret_cast<void*>(i * 4096L));
      return built->Execute(/*handle=*/nullptr, addresses, reinterpret_cast<void*>(4096L));
    });
  }

 private:
  const CudnnTarget target_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DnnChecker>> NewDnnChecker(const std::string& properties_json,
                                                          int compute_capability,
                                                          CodeCache* cache) {
  QUOTIENT_ASSIGN_OR_RETURN(CudnnDescription properties, ParseDescription(properties_json));
  return std::make_unique<DescribedDevice>(CudnnTarget{.properties = std::move(properties),
                                                       .compute_capability = compute_capability,
                                                       .cache = cache,
                                                       .device = properties_json});
}

}  // namespace quotient::kernels::cuda
