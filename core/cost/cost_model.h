#pragma once

// CostModel: how long a kernel takes on a device, as measured or as an analytic model predicts.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/stop.h"
#include "core/cost/roofline.h"
#include "core/kernels/backend.h"
#include "core/kernels/kernel_spec.h"
#include "core/kernels/partition.h"
#include "core/model/graph.h"

namespace quotient::timing {
class TimingService;
struct Snapshot;
}  // namespace quotient::timing

namespace quotient::cost {

enum class CostSource { kMeasured, kModel, kFree };
absl::string_view CostSourceName(CostSource source);  // "measured", "estimated", "free"

struct KernelCost {
  double us = 0;      // Microseconds that the kernel adds to a run, launch gap included.
  double spread = 0;  // Relative spread of the measurement; 0 for models.
  CostSource source = CostSource::kModel;
  // Whether this is final: the kernel was measured, or it cannot be measured.
  bool settled = false;
  // Whether the device is known to lack such a kernel. A search must then choose nothing that needs
  // it.
  bool unsupported = false;
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  // The best estimate available now: the measurement if there is one that can be relied on
  // (timing::Timing::is_reliable), else the prior. The prior is optimistic (a roofline at what the
  // device can do at best), so that a search tries kernels it knows nothing about. Requests no
  // measurement and returns at once. Thread-safe; never fails.
  virtual KernelCost Estimate(const kernels::KernelSpec& spec) = 0;
  // The prior alone, even if the kernel was measured. A search falls back on it where a busy
  // machine makes measurements wrong. Thread-safe; never fails.
  virtual KernelCost Prior(const kernels::KernelSpec& spec) = 0;
  // Requests a measurement, unless one was requested before, and returns at once. Meant for kernels
  // that a promising graph uses. Thread-safe.
  virtual void Request(const kernels::KernelSpec& spec) = 0;
  // Number of measurements that have arrived so far, whoever requested them. Estimates do not
  // change as long as this number does not. 0 for models that measure nothing. Thread-safe, quick.
  virtual int64_t measurements() const = 0;
  // Blocks until every measurement requested so far has arrived, or until `stop`.
  virtual void Wait(const StopCondition& stop) = 0;
  // Blocks while measurements are under way that the caller's computation would disturb, or until
  // `stop`.
  virtual void GiveWay(const StopCondition& /*stop*/) {}
  // How graphs are cut into kernels on this device.
  virtual const kernels::PartitionOptions& partition() const = 0;
  virtual const std::string& fingerprint() const = 0;
  virtual bool measures() const = 0;
  // Whether the costs of some kernels were measured, now or earlier. If so, the costs of kernels
  // that were not measured deserve less trust.
  virtual bool knows_measurements() const { return measures(); }
};

// Costs as the timing service measures them; by the roofline until a measurement arrives.
std::unique_ptr<CostModel> NewMeasuredCostModel(const kernels::Backend* backend,
                                                timing::TimingService* service, const Roof& roof);

// Costs recorded in a snapshot of a device, which need not be present. Kernels that the snapshot
// does not contain cost what `roof` predicts. Measures nothing. Deterministic.
std::unique_ptr<CostModel> NewRecordedCostModel(std::shared_ptr<const timing::Snapshot> snapshot,
                                                const Roof& roof);

struct GraphCost;

// Costs as `model` gives them, except for kernels that were not measured: their prior is multiplied
// by the typical slowdown, which is the median ratio of measurement to prior over the measured
// kernels of `graph`, at least 1. Matrix products and other kernels have separate medians if enough
// of each were measured. For models that measure nothing: since the prior is optimistic, choosing
// by it would favor the kernels that are known least. Borrows the model.
std::unique_ptr<CostModel> NewCalibratedCostModel(CostModel* model, const GraphCost& graph);

// Costs of a device by its data sheet alone: "model:h200" (TF32) or "model:h200-strict32".
// DEVICE_NOT_PRESENT for a name without a row in the table. Deterministic.
absl::StatusOr<std::unique_ptr<CostModel>> NewAnalyticCostModel(absl::string_view device);
// The same for the device of any sheet, which is used as a whole.
std::unique_ptr<CostModel> NewAnalyticCostModel(const DeviceSheet& sheet);
// The names that NewAnalyticCostModel accepts.
std::vector<std::string> AnalyticDevices();

// The cost of each kernel group of a static, constant-folded graph, in order.
struct GraphCost {
  std::vector<kernels::KernelGroup> groups;
  std::vector<KernelCost> costs;  // Parallel to groups.
  double total_us = 0;
};
// Once its kernels have been measured, or at what is known when `stop` fires.
absl::StatusOr<GraphCost> PredictGraph(const model::Graph& graph, CostModel& model,
                                       const StopCondition& stop);
// The same kernels at what is known of them now.
GraphCost AtPresent(GraphCost graph, CostModel& model);

}  // namespace quotient::cost
