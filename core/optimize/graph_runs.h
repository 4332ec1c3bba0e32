#pragma once

// Runs of whole graphs against each other: the mechanics of a contest (contest.h).

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/kernels/backend.h"
#include "core/optimize/contest.h"
#include "core/optimize/verified.h"
#include "core/timing/end_to_end.h"

namespace quotient::optimize {

// A graph that can be run, and the relative norm of the error of what comes out.
struct Tried {
  std::unique_ptr<kernels::Executable> executable;
  std::optional<double> error_norm;
};

// A candidate that can be run.
struct Runnable {
  Verified candidate;
  Tried tried;
};

// What runs of contenders show: ratios in their order, without pairs for one that cannot be run.
struct Ratios {
  std::vector<timing::RatioStatistics> ratios;
  bool contaminated = false;
};

// What runs graphs must be called in the timing lane. What has a `stop` fails with CANCELLED.

// Compiles the original for the device of the context, runs it once, and looks at what comes out.
absl::StatusOr<Tried> TryOriginal(const MeasureContext& context);

// The same for candidates. `failures` gets a line for each that cannot be run, which is thrown
// away.
std::vector<Runnable> TryAll(const MeasureContext& context, std::vector<Verified> candidates,
                             std::vector<std::string>* failures);

// Runs the original and all candidates against each other, as many at a time as may be loaded, for
// as long as `measuring` says. If other work on the machine ends that early, candidates that did
// not run have no runs.
absl::StatusOr<Contest> RunAll(const MeasureContext& context, const Tried& original,
                               std::vector<Verified> candidates,
                               const timing::EndToEndOptions& measuring, const StopCondition& stop,
                               std::vector<std::string>* failures);

// Compiles these contenders and then the original, in another order than RunAll does, and runs them
// against each other until the deadline. Compiling counts as a part of the time.
absl::StatusOr<Ratios> RunAnew(const MeasureContext& context,
                               std::span<Contender* const> contenders,
                               const timing::EndToEndOptions& measuring, int64_t deadline_ns,
                               const StopCondition& stop);

// Seconds until then; 0 afterwards.
double SecondsUntil(int64_t deadline_ns);

}  // namespace quotient::optimize
