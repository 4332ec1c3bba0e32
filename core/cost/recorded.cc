#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/cost/cost_model.h"
#include "core/cost/roofline.h"
#include "core/kernels/partition.h"
#include "core/timing/snapshot.h"

namespace quotient::cost {
namespace {

// What is assumed of kernels that are not in a snapshot.
struct Assumption {
  const DeviceSheet* sheet;
  double processors;
};

std::optional<Assumption> AssumptionOf(const timing::Snapshot& snapshot) {
  if (snapshot.device == "cpu") return Assumption{&CpuSheet(), 1.0 * snapshot.partition.threads};
  const DeviceSheet* sheet = nullptr;
  if (snapshot.device == "cuda") sheet = FindDeviceSheet("model:h200");
  if (snapshot.device == "cuda-strict32") sheet = FindDeviceSheet("model:h200-strict32");
  if (sheet == nullptr) return std::nullopt;
  return Assumption{sheet, sheet->processors};
}

class RecordedCostModel : public CostModel {
 public:
  RecordedCostModel(std::shared_ptr<const timing::Snapshot> snapshot, Assumption assumption)
      : snapshot_(std::move(snapshot)), assumption_(assumption) {}

  KernelCost Estimate(const kernels::KernelSpec& spec) override {
    if (spec.free) return Prior(spec);
    const auto found = snapshot_->timings.find(kernels::KernelKey(spec));
    if (found == snapshot_->timings.end()) return Prior(spec);
    const timing::Timing& timing = found->second;
    return {timing.min_us, timing.relative_spread, CostSource::kMeasured, true};
  }

  KernelCost Prior(const kernels::KernelSpec& spec) override {
    if (spec.free) return {0, 0, CostSource::kFree, true};
    return {RooflineUs(spec, *assumption_.sheet, assumption_.processors), 0, CostSource::kModel,
            true};
  }

  void Request(const kernels::KernelSpec&) override {}
  int64_t measurements() const override { return 0; }
  void Wait(const StopCondition&) override {}

  absl::StatusOr<std::vector<kernels::KernelGroup>> Partition(
      const model::Graph& graph) const override {
    return kernels::PartitionGraph(graph, snapshot_->partition);
  }

  const std::string& fingerprint() const override { return snapshot_->fingerprint; }
  bool measures() const override { return false; }

 private:
  const std::shared_ptr<const timing::Snapshot> snapshot_;
  const Assumption assumption_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CostModel>> NewRecordedCostModel(
    std::shared_ptr<const timing::Snapshot> snapshot) {
  const std::optional<Assumption> assumption = AssumptionOf(*snapshot);
  if (!assumption.has_value()) {
    return MakeError(Reason::kOptionInvalid,
                     absl::StrCat("the snapshot is of a device '", snapshot->device,
                                  "', of which nothing is known here"));
  }
  return std::make_unique<RecordedCostModel>(std::move(snapshot), *assumption);
}

}  // namespace quotient::cost
