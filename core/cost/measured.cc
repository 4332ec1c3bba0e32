#include <optional>

#include "core/cost/cost_model.h"
#include "core/cost/roofline.h"
#include "core/timing/service.h"

namespace quotient::cost {
namespace {

class MeasuredCostModel : public CostModel {
 public:
  MeasuredCostModel(const kernels::Backend* backend, timing::TimingService* service,
                    const Roof& roof)
      : backend_(backend), service_(service), roof_(roof) {}

  KernelCost Estimate(const kernels::KernelSpec& spec) override {
    if (spec.free) return Prior(spec);
    const std::optional<timing::Timing> timing = service_->Find(spec);
    if (timing.has_value() && timing->is_reliable()) {
      return {timing->min_us, timing->relative_spread, CostSource::kMeasured, true};
    }
    KernelCost prior = Prior(spec);
    prior.settled = timing.has_value();
    return prior;
  }

  KernelCost Prior(const kernels::KernelSpec& spec) override {
    if (spec.free) return {0, 0, CostSource::kFree, true};
    return {RooflineUs(spec, roof_), 0, CostSource::kModel};
  }

  void Request(const kernels::KernelSpec& spec) override {
    if (!spec.free) service_->Get(spec);
  }

  int64_t measurements() const override { return service_->measurements(); }

  void Wait(const StopCondition& stop) override { service_->Wait(stop); }

  void GiveWay(const StopCondition& stop) override { service_->GiveWay(stop); }

  const kernels::PartitionOptions& partition() const override { return backend_->partition(); }

  const std::string& fingerprint() const override { return backend_->fingerprint().text; }
  bool measures() const override { return true; }

 private:
  const kernels::Backend* const backend_;
  timing::TimingService* const service_;
  const Roof roof_;
};

}  // namespace

std::unique_ptr<CostModel> NewMeasuredCostModel(const kernels::Backend* backend,
                                                timing::TimingService* service, const Roof& roof) {
  return std::make_unique<MeasuredCostModel>(backend, service, roof);
}

}  // namespace quotient::cost
