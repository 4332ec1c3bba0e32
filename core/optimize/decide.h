#pragma once

// The decision: which candidate, if any, is taken. DECISION.md says why it is made like this.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/optimize/contest.h"
#include "core/optimize/job.h"
#include "core/optimize/optimize.h"
#include "core/optimize/verified.h"
#include "core/report/report.h"

namespace quotient::optimize {

// The candidate that is taken.
struct Winner {
  Verified candidate;
  report::Measured measured;  // Empty if nothing was run.
  // Known if it was measured. That of the CPU time if that was compared.
  std::optional<report::PercentRange> gain = {};
  double gain_percent = 0;  // The same as one number; 0 if it is not known.
};

struct Decision {
  std::optional<Winner> winner;  // Without one, the original stays.
  report::Measured original;     // Empty if nothing was run.
  // The candidates that were judged, those with the lowest predicted cost first.
  std::vector<report::Considered> considered;
  // Packaged::found of the first judged candidate that has one, whether it was taken or not.
  std::optional<size_t> foremost;
  bool disturbed = false;     // Most runs were interrupted by other work on the machine.
  bool by_cpu_time = false;   // The CPU time of runs on one thread was compared instead.
  bool by_estimates = false;  // No candidate gains if only measured kernels count.
};

// A race takes about this many runs of each graph to tell the graphs apart.
inline constexpr double kRunsOfRace = 10;

// How many candidates are checked and run against the original. Where a run takes long, these are
// the two that are predicted to be the cheapest, or that one alone if even two would take longer
// than `seconds`.
size_t MostChallengers(const cost::GraphCost& original, double seconds);

// Decides by running the original and all candidates end to end, interleaved, and by what was
// predicted (Judge). Of several candidates that may be taken, the one that is predicted to be the
// cheapest is taken, unless another one is surely faster than it. Without candidates the original
// is measured alone. Candidates that the backend cannot run are thrown away, and `failures` gets a
// line for each, also if the measurement fails.
absl::StatusOr<Decision> DecideByRunning(const MeasureContext& context,
                                         std::vector<Verified> candidates,
                                         const StopCondition& stop,
                                         std::vector<std::string>* failures);

// Whether a candidate with this predicted cost would be worth taking where nothing can be run.
bool GainsByModel(const cost::GraphCost& original, const cost::GraphCost& candidate);

// Decides by predicted cost, for devices where nothing can be run. A candidate whose gain rests on
// measurements, in that every kernel that either graph has more often than the other was measured,
// is taken before any that gains by estimates, however much those promise. None with a kernel that
// the device cannot run is taken.
Decision DecideByModel(const cost::GraphCost& original, std::vector<Verified> candidates);

}  // namespace quotient::optimize
