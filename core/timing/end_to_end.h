#pragma once

// End-to-end measurement: compares the run times of whole graphs. Its result decides which graph
// is returned, whatever the sum of kernel times predicted.
//
// All executables are run in turn, alternately forwards and backwards (A B C, C B A, ...), in one
// process on one set of threads, so that anything that slows the machine down for a while slows
// all of them alike. A candidate is compared with the first executable turn by turn: the ratio of
// the fastest samples of their visits in the turn. What slows the machine down for a while, also by
// what other machines do on the same host, moves both sides of such a ratio, and what disturbs one
// visit or the other moves a ratio up as often as down. So the one that is looked for is the median
// of these ratios. That also holds on a machine that is kept busy, where threads of a kernel that
// find no core leave its work to the others, so that a graph takes one time or another, or several,
// by chance.
//
// After 16, 32, 64, ... turns the samples are evaluated. Candidates whose gain is surely below
// least_gain are dropped, and so is the slower half of the others (successive halving). The
// measurement ends when one candidate is left and is surely faster, when none is left, or when the
// time is up. A candidate is also dropped if the time that is left cannot show that it is faster
// than the first executable, unless most of its samples are contaminated or fewer than kFewestPairs
// of its ratios count. If there is only time for few turns, that is checked after each turn. On
// request, the measurement of a busy machine ends early.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/kernels/backend.h"
#include "core/os/probe.h"
#include "core/timing/statistics.h"

namespace quotient::timing {

struct EndToEndOptions {
  double budget_seconds = 30;    // For all executables together, after calibration.
  int min_turns = kFewestPairs;  // Taken even if they exceed the budget.
  int first_evaluation = 16;     // Turns before the first evaluation; the number doubles each time.
  int max_turns = 512;
  double sample_us = 2'000;  // Target length of a sample, which has at least one run.
  // Samples taken of an executable per turn. They follow a run that is not timed, which brings the
  // executable's data back into the caches from which the others have evicted it.
  int samples_per_visit = 3;
  // If a run of any executable takes longer than this, there is no untimed run and only one sample
  // per turn.
  double warm_below_us = 50'000;
  double least_gain = 0.002;  // Candidates that are surely gaining less are dropped. Relative.
  // Confidence level of each evaluation. There are up to six, counting the final one.
  double confidence = 0.99;
  // Whether to stop, after the first few turns or at an evaluation, if two thirds of the pairs of
  // an executable are contaminated: for callers who have a better use for the time then.
  bool stops_if_contaminated = false;
};

// Times of one run in microseconds.
struct RunStatistics {
  double median_us = 0;
  double p10_us = 0;
  double p90_us = 0;
  double min_us = 0;
  int samples = 0;
};

// time(candidate) / time(first): below 1, the candidate is faster.
struct RatioStatistics {
  double value = 1;
  Interval interval{1, 1};    // By EndToEndOptions::confidence.
  double log_sd = 0;          // The standard deviation of the logarithm of `value`.
  int pairs = 0;              // Turns in which both ran and whose samples count.
  double log_difference = 0;  // Of two measurements that were pooled.
  bool surely_faster() const { return interval.high < 1; }
  bool surely_slower() const { return interval.low > 1; }
};

// What two measurements of the same graphs show together. The interval holds those of both.
RatioStatistics Pooled(const RatioStatistics& a, const RatioStatistics& b);

struct EndToEndResult {
  std::vector<RunStatistics> runs;      // Parallel to the executables.
  std::vector<RatioStatistics> ratios;  // Parallel to the executables; the first ratio is 1.
  // Whether more than half of the pairs of an executable that raced to the end were contaminated
  // (probe.h). Of such an executable contaminated samples count, too, by their CPU time where
  // kernels use one thread.
  bool contaminated = false;
};

// What a few runs of one executable show of the machine.
struct Disturbance {
  RunStatistics runs;
  bool disturbed = false;  // Whether most samples were contaminated (probe.h).
};

// Runs an executable, which has run before: twice if both samples are clean, else until most
// samples, and at least three, say the same, and for a twentieth of a second at least, because what
// disturbs a run or two may be over the next moment. Must be called in the timing lane. Returns its
// errors.
absl::StatusOr<Disturbance> LookForDisturbance(kernels::Executable& executable,
                                               const EndToEndOptions& options, os::Probe& probe);

// Measures executables whose inputs have been set. Must be called in the timing lane (lane.h).
// Returns the errors of the executables, and CANCELLED if the token of `stop` is set. A deadline in
// `stop` ends the measurement early, but not before min_turns.
absl::StatusOr<EndToEndResult> MeasureEndToEnd(std::span<kernels::Executable* const> executables,
                                               const EndToEndOptions& options, os::Probe& probe,
                                               const StopCondition& stop);

}  // namespace quotient::timing
