#include <memory>
#include <string>
#include <utility>

#include "core/cost/cost_model.h"
#include "core/cost/roofline.h"
#include "core/kernels/partition.h"
#include "core/timing/snapshot.h"

namespace quotient::cost {
namespace {

class RecordedCostModel : public CostModel {
 public:
  RecordedCostModel(std::shared_ptr<const timing::Snapshot> snapshot, const Roof& roof)
      : snapshot_(std::move(snapshot)), roof_(roof) {}

  KernelCost Estimate(const kernels::KernelSpec& spec) override {
    if (spec.free) return Prior(spec);
    const auto found = snapshot_->timings.find(kernels::KernelKey(spec));
    if (found == snapshot_->timings.end()) return Prior(spec);
    const timing::Timing& timing = found->second;
    if (!timing.has_time()) {
      KernelCost cost = Prior(spec);
      cost.unsupported = true;
      return cost;
    }
    if (!timing.is_reliable()) return Prior(spec);
    return {timing.min_us, timing.relative_spread, CostSource::kMeasured, true};
  }

  KernelCost Prior(const kernels::KernelSpec& spec) override {
    if (spec.free) return {0, 0, CostSource::kFree, true};
    return {RooflineUs(spec, roof_), 0, CostSource::kModel, true};
  }

  void Request(const kernels::KernelSpec&) override {}
  int64_t measurements() const override { return 0; }
  void Wait(const StopCondition&) override {}

  const kernels::PartitionOptions& partition() const override { return snapshot_->partition; }

  const std::string& fingerprint() const override { return snapshot_->fingerprint; }
  bool measures() const override { return false; }
  bool knows_measurements() const override { return true; }

 private:
  const std::shared_ptr<const timing::Snapshot> snapshot_;
  const Roof roof_;  // Estimates kernels that are not in the snapshot.
};

}  // namespace

std::unique_ptr<CostModel> NewRecordedCostModel(std::shared_ptr<const timing::Snapshot> snapshot,
                                                const Roof& roof) {
  return std::make_unique<RecordedCostModel>(std::move(snapshot), roof);
}

}  // namespace quotient::cost
