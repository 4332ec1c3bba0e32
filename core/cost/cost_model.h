#pragma once

// CostModel: what a kernel costs on a device, measured or by an analytic model.

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
  double us = 0;      // what the kernel adds to a run, its launch gap included
  double spread = 0;  // relative; 0 for models
  CostSource source = CostSource::kModel;
  bool settled = false;  // it was measured, or cannot be: asking again tells no more
  // The device is known to have no such kernel: nothing that a search chooses may need it.
  bool unsupported = false;
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  // What is known of a kernel now: its measurement if there is one, else the prior, which is
  // optimistic (a roofline at what the device can do), so that a search tries what it does not
  // know. Asks for nothing, returns at once. Thread-safe; never fails.
  virtual KernelCost Estimate(const kernels::KernelSpec& spec) = 0;
  // The prior alone, whatever was measured: what a search falls back on where a busy machine makes
  // measurements wrong. Thread-safe; never fails.
  virtual KernelCost Prior(const kernels::KernelSpec& spec) = 0;
  // Asks for a measurement, unless it was asked for before, and returns at once: kernels that a
  // promising graph uses. Thread-safe.
  virtual void Request(const kernels::KernelSpec& spec) = 0;
  // How many measurements have arrived by now, whoever asked for them: while the number stays,
  // estimates stay. 0 for models that measure nothing. Thread-safe, quick.
  virtual int64_t measurements() const = 0;
  // Blocks until every measurement asked for so far has arrived (or `stop`).
  virtual void Wait(const StopCondition& stop) = 0;
  // How graphs are cut into kernels on this device.
  virtual const kernels::PartitionOptions& partition() const = 0;
  virtual const std::string& fingerprint() const = 0;
  virtual bool measures() const = 0;
  // Whether costs of some kernels were measured, now or earlier: where that is so, what was not is
  // to be trusted less.
  virtual bool knows_measurements() const { return measures(); }
};

// Costs as the service measures them; by the roof until then.
std::unique_ptr<CostModel> NewMeasuredCostModel(const kernels::Backend* backend,
                                                timing::TimingService* service, const Roof& roof);

// Costs of a device that need not be here, as a snapshot of it has them; what is not in the
// snapshot costs what is assumed of the device. Measures nothing. OPTION_INVALID for a device of
// which nothing is assumed. Deterministic.
absl::StatusOr<std::unique_ptr<CostModel>> NewRecordedCostModel(
    std::shared_ptr<const timing::Snapshot> snapshot);

struct GraphCost;

// Costs as `model` has them, but of what nobody measured: that costs so many times its prior as is
// usual for the kernels of `graph` that were (the median; at least once; products of matrices and
// other kernels apart, if there are enough of them). For models that measure nothing: the prior,
// being optimistic, makes whoever chooses by it prefer what it knows least of. Borrows the model.
std::unique_ptr<CostModel> NewCalibratedCostModel(CostModel* model, const GraphCost& graph);

// Costs of a device by its data sheet alone: "model:h200" (tf32) or "model:h200-strict32".
// DEVICE_NOT_PRESENT for a name without a row in the table. Deterministic.
absl::StatusOr<std::unique_ptr<CostModel>> NewAnalyticCostModel(absl::string_view device);
// The names that NewAnalyticCostModel knows.
std::vector<std::string> AnalyticDevices();

// Costs of a whole static, folded graph, per kernel group, in order.
struct GraphCost {
  std::vector<kernels::KernelGroup> groups;
  std::vector<KernelCost> costs;  // parallel to groups
  double total_us = 0;
};
absl::StatusOr<GraphCost> PredictGraph(const model::Graph& graph, CostModel& model,
                                       const StopCondition& stop);

}  // namespace quotient::cost
