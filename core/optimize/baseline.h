#pragma once

// Original and Baseline: the model as it came and what it costs. All candidates are compared with
// them.

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cost/cost_model.h"
#include "core/optimize/budget.h"
#include "core/optimize/candidates.h"
#include "core/optimize/devices.h"
#include "core/optimize/file_cost.h"
#include "core/optimize/job.h"
#include "core/optimize/prepared.h"
#include "core/report/report.h"

namespace quotient::optimize {

// The model as it came, and the device that it is optimized for.
struct Original {
  std::shared_ptr<Device> device;  // Never null.
  Prepared prepared;
  // SearchSettings::alternatives, or as many as memory can hold if that is less.
  int alternatives = 0;
};

// A model that cannot be optimized: it could not be prepared, or running it might take more memory
// than there is, which would end the whole process.
struct Unusable {
  std::shared_ptr<Device> device;  // Never null.
  Unprepared model;
};

// Fails if the device cannot be opened. That a model cannot be optimized is a value, because it may
// still be returned as it came.
absl::StatusOr<std::variant<Original, Unusable>> ReadOriginal(const Job& job);

// Where the device is a processor with several threads, and other work takes the cores that these
// would need, opens it for one thread instead: the CPU time of one is hardly changed by such work
// (DECISION.md). Returns whether it did. Waits for the timing lane.
bool MoveToOneThread(const Job& job, Original* original);

// An original with its predicted cost. Borrows the original.
struct Baseline {
  const Original& original;
  cost::GraphCost cost;
  // Null except for a device known from a snapshot. For such a device, estimates of kernels that
  // were not recorded are scaled by how much longer the original's recorded kernels took than their
  // estimates.
  std::unique_ptr<cost::CostModel> calibrated;
  // Set where `cost` is the cost of the file. Candidates are then priced as files, too.
  std::optional<FileCostContext> file_costs;
  std::vector<std::string> notes;  // For the report.

  // The cost model by which the original and all candidates are predicted.
  cost::CostModel& costs() const { return calibrated ? *calibrated : original.device->costs(); }
};

// Predicts the original. Kernels that are not measured in the time that the budget has for them are
// estimated. Fails as cost::PredictGraph does, and with MODEL_UNSUPPORTED if memory runs out.
absl::StatusOr<Baseline> PredictBaseline(const Job& job, const Original& original);

// The same at the prices that are known now. On a device that measures, kernels of the original may
// have been measured since it was predicted.
Baseline AtPresent(Baseline baseline);

// The newest opset that the options allow a result to need.
int WantedOpset(const Options& options, const onnx::Model& model);
// The newest such opset that the model can be raised to (onnx::HighestOpset).
int MaxOpset(const Options& options, const onnx::Model& model);

// Counts the kernels of a graph by where their costs come from.
report::KernelCounts CountKernels(const cost::GraphCost& cost);

}  // namespace quotient::optimize
