#include "core/optimize/devices.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/kernels/onednn/onednn_backend.h"

namespace quotient::optimize {

Device::Device(std::unique_ptr<kernels::Backend> backend,
               std::unique_ptr<timing::TimingService> service)
    : backend_(std::move(backend)),
      service_(std::move(service)),
      costs_(cost::NewMeasuredCostModel(backend_.get(), service_.get())) {}

Device::Device(std::unique_ptr<cost::CostModel> model) : costs_(std::move(model)) {}

kernels::PlanChoice Device::plans() {
  return [this](const kernels::KernelSpec& spec) {
    const std::optional<timing::Timing> timing = service_->Find(spec);
    return timing.has_value() ? timing->plan : std::string();
  };
}

absl::StatusOr<Device*> Devices::Get(const std::string& name, int threads) {
  const absl::MutexLock lock(&mutex_);
  std::unique_ptr<Device>& device = devices_[absl::StrCat(name, "/", threads)];
  if (device == nullptr) {
    QUOTIENT_ASSIGN_OR_RETURN(device, Make(name, threads));
  }
  return device.get();
}

absl::StatusOr<std::unique_ptr<Device>> Devices::Make(const std::string& name, int threads) {
  if (name != "cpu") {
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<cost::CostModel> model,
                              cost::NewAnalyticCostModel(name));
    return std::make_unique<Device>(std::move(model));
  }
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<kernels::Backend> backend,
                            kernels::onednn::NewBackend(threads));
  std::unique_ptr<timing::TimingService> service =
      timing::NewTimingService(backend.get(), store_, {.threads = threads});
  return std::make_unique<Device>(std::move(backend), std::move(service));
}

}  // namespace quotient::optimize
