#pragma once

// A contest: the original and its candidates run against each other.

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/cost/cost_model.h"
#include "core/kernels/backend.h"
#include "core/model/tensor.h"
#include "core/optimize/devices.h"
#include "core/optimize/job.h"
#include "core/optimize/prepared.h"
#include "core/optimize/verified.h"
#include "core/timing/end_to_end.h"
#include "core/timing/lane.h"
#include "core/verify/reference.h"

namespace quotient::optimize {

// How a device is measured.
struct MeasureOptions {
  int threads = 1;
  // How many graphs are loaded at a time, the original included; at least two. If there are more
  // candidates, some of them run against the original after the others, with their share of the
  // time.
  size_t graphs_at_once = std::numeric_limits<size_t>::max();
  double seconds = 30;  // For all graphs together, at most.
  verify::DeviceArithmetic arithmetic = verify::DeviceArithmetic::kHost;
};

// What candidates are measured against, and where. Everything but the last three is borrowed.
struct MeasureContext {
  const Prepared& original;
  const cost::GraphCost& cost;  // The predicted cost of original.cut.
  const ModelFiles& files;      // The files that the original was read from.
  // The inputs of original.cut on which everything runs: the first ones of `reference`, if there is
  // one.
  const std::vector<model::Tensor>& inputs;
  // Every graph's outputs are compared with it. May be null.
  const verify::Reference* reference;
  kernels::Backend& backend;
  timing::Lane& lane;         // Where everything is compiled and run.
  kernels::PlanChoice plans;  // How kernels are run.
  MeasureOptions options;
  // Opens the same device for runs on one thread. Empty if it runs on one thread already, if it has
  // more threads than there are cores for them, or if it is no CPU.
  std::function<absl::StatusOr<std::shared_ptr<Device>>()> one_thread = {};
};

// A candidate that was run against the original, with all threads or on one.
struct Contender {
  Verified candidate;
  // With all threads. Without pairs if it was run on one, or not at all.
  timing::RunStatistics runs = {};
  timing::RatioStatistics ratio = {};
  std::optional<double> error_norm = {};  // Relative, of what came out. Nullopt if not compared.
  // As in Evidence. Without pairs if it was to run on one thread and did not.
  std::optional<timing::RatioStatistics> cpu_time = {};

  // What its gain is told by.
  const timing::RatioStatistics& decisive() const {
    return cpu_time.has_value() ? *cpu_time : ratio;
  }
};

struct Contest {
  timing::RunStatistics original;  // With all threads.
  std::optional<double> original_error_norm;
  // Whether these runs are the few after which a disturbed race went on with one thread. How long
  // they took, while other work had the cores, says little of the original.
  bool original_tells_no_time = false;
  std::vector<Contender> contenders;
  bool contaminated = false;  // Other work on the machine disturbed most runs.
};

// Runs all of them end to end, interleaved, for about `context.options.seconds`, but:
// - If other work on the machine disturbs runs, which runs of the original alone tell before
//   anything else is compiled, all of them run on one thread instead, whose CPU time such work
//   hardly changes. If there is no time for that, each candidate is only run once, and nothing is
//   known of the time that it takes (`cpu_time` without pairs).
// - If some runs show what is doubtful (IsDoubtful), these graphs are compiled anew and run again,
//   if half of the time that the first runs took is left. Code and buffers lie elsewhere in memory
//   then.
// Candidates that the backend cannot run are thrown away, and `failures` gets a line for each.
// Fails if the original cannot be run, and with CANCELLED. Must be called in the timing lane.
absl::StatusOr<Contest> RunContest(const MeasureContext& context, std::vector<Verified> candidates,
                                   const StopCondition& stop, std::vector<std::string>* failures);

}  // namespace quotient::optimize
