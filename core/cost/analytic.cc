#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/reason.h"
#include "core/cost/cost_model.h"
#include "core/cost/roofline.h"
#include "core/kernels/partition.h"

namespace quotient::cost {
namespace {

// Part of the fingerprint. Must be increased whenever the formula or the table changes.
constexpr int kTableVersion = 2;

class AnalyticCostModel : public CostModel {
 public:
  explicit AnalyticCostModel(const DeviceSheet& sheet)
      : roof_{sheet, sheet.processors},
        fingerprint_(absl::StrCat(sheet.name, "; data sheet ", kTableVersion)) {}

  KernelCost Prior(const kernels::KernelSpec& spec) override { return Estimate(spec); }

  KernelCost Estimate(const kernels::KernelSpec& spec) override {
    if (spec.free) return {0, 0, CostSource::kFree, true};
    return {RooflineUs(spec, roof_), 0, CostSource::kModel, true};
  }

  void Request(const kernels::KernelSpec&) override {}
  int64_t measurements() const override { return 0; }
  void Wait(const StopCondition&) override {}

  const kernels::PartitionOptions& partition() const override { return partition_; }

  const std::string& fingerprint() const override { return fingerprint_; }
  bool measures() const override { return false; }

 private:
  const Roof roof_;
  const kernels::PartitionOptions partition_{.storage = kernels::Storage::kNative};
  const std::string fingerprint_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CostModel>> NewAnalyticCostModel(absl::string_view device) {
  const DeviceSheet* sheet = FindDeviceSheet(device);
  if (sheet == nullptr) {
    return MakeError(Reason::kDeviceNotPresent,
                     absl::StrCat("no device '", device,
                                  "'; there are: ", absl::StrJoin(AnalyticDevices(), ", ")));
  }
  return std::make_unique<AnalyticCostModel>(*sheet);
}

std::unique_ptr<CostModel> NewAnalyticCostModel(const DeviceSheet& sheet) {
  return std::make_unique<AnalyticCostModel>(sheet);
}

std::vector<std::string> AnalyticDevices() {
  std::vector<std::string> names;
  for (const DeviceSheet& sheet : AllDeviceSheets()) names.emplace_back(sheet.name);
  return names;
}

}  // namespace quotient::cost
