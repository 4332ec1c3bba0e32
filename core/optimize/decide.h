#pragma once

// The decision: which candidates are right, and which of them, if any, is really faster.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/kernels/backend.h"
#include "core/model/tensor.h"
#include "core/optimize/package.h"
#include "core/optimize/prepared.h"
#include "core/report/report.h"
#include "core/verify/checker.h"
#include "core/verify/reference.h"

namespace quotient::optimize {

// Compares each with the original and keeps those that agree. `failures` gets a line for each that
// did not: every one is a broken rule. CANCELLED and RUN_BUDGET: those that could not be compared
// in time are not kept, and are no failures.
absl::Status KeepVerified(verify::Checker& checker, const StopCondition& stop,
                          std::vector<Packaged>* candidates, std::vector<std::string>* failures);

// What was decided: the fastest candidate, if it is faster than the original beyond the noise.
struct Decision {
  std::optional<size_t> winner;  // index; nothing: the original stays
  report::Measured original;
  std::optional<report::PercentRange> gain;  // of the winner, where it was measured
  bool disturbed = false;     // most runs were interrupted by other work on the machine
  bool by_estimates = false;  // nothing gains by measured kernels alone
};

// How a device is measured.
struct MeasureOptions {
  int threads = 1;
  double seconds = 30;  // of all graphs together, at most
  verify::DeviceArithmetic arithmetic = verify::DeviceArithmetic::kHost;
};

// By running the original and all candidates end to end, interleaved, on `inputs` (those of
// original.cut; where there is a `reference`, its first ones, and what comes out is compared with
// it), kernels by `plans`. Fills in `measured` of all. Without candidates the original is measured
// alone. Candidates that the backend cannot run are thrown away; `failures` gets a line for each.
absl::StatusOr<Decision> DecideByRunning(
    const Prepared& original, const std::vector<model::Tensor>& inputs,
    const verify::Reference* reference, kernels::Backend& backend, const kernels::PlanChoice& plans,
    const MeasureOptions& options, const StopCondition& stop, std::vector<Packaged>* candidates,
    std::vector<std::string>* failures);

// By predicted cost: for devices where nothing can be run. A candidate whose gain rests on
// measurements, in that every kernel that either graph has more often than the other was measured,
// is taken before any that gains by estimates, however much those promise. None with a kernel that
// the device cannot run is taken.
Decision DecideByModel(const cost::GraphCost& original, const std::vector<Packaged>& candidates);

}  // namespace quotient::optimize
