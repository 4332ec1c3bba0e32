#pragma once

// Original and Baseline: the model as it came and what it costs. All candidates are compared with
// them.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cost/cost_model.h"
#include "core/optimize/candidates.h"
#include "core/optimize/devices.h"
#include "core/optimize/job.h"
#include "core/optimize/package.h"
#include "core/optimize/prepared.h"
#include "core/report/report.h"

namespace quotient::optimize {

// The model as it came, and the device that it is optimized for.
struct Original {
  std::shared_ptr<Device> device;  // Never null.
  Prepared prepared;               // Incomplete if the model could not be prepared.
  int alternatives = 0;            // As many as memory can hold (SearchSettings).
  // Why the model cannot be optimized: that it could not be prepared, or that what could only be
  // tried at the price of the whole process is not tried.
  absl::Status usable;
};

// Fails if the device cannot be had. What is wrong with the model is a value, Original::usable,
// because the model may still be returned as it came.
absl::StatusOr<Original> ReadOriginal(const Job& job);

// A usable original with its predicted cost. Borrows the original.
struct Baseline {
  const Original& original;
  cost::GraphCost cost;
  // Null except for a device known from a snapshot. There, what is assumed of kernels is corrected
  // by how long the kernels of the original took.
  std::unique_ptr<cost::CostModel> calibrated;
  std::vector<std::string> notes;  // For the report.

  // By these, everything else is predicted too.
  cost::CostModel& costs() const { return calibrated ? *calibrated : original.device->costs(); }
};

// Fails as cost::PredictGraph does, and with MODEL_UNSUPPORTED if memory runs out.
absl::StatusOr<Baseline> PredictBaseline(const Original& original, const StopCondition& stop);

// The newest opset that a result may need, as far as the options say.
int WantedOpset(const Options& options, const onnx::Model& model);

// Counts the kernels of a graph by where their costs come from.
report::KernelCounts CountKernels(const cost::GraphCost& cost);

SearchSettings SettingsToSearch(const Job& job, const Baseline& baseline);
PackageSettings SettingsToPackage(const Job& job, const Original& original);

}  // namespace quotient::optimize
