#pragma once

// Whole graphs against each other: the measurement that decides.
//
// All executables are run in turn, forwards and backwards (A B C, C B A, ...), in one process on
// one set of threads; each visit gives a sample. Candidates are compared with the first executable
// by the ratio of the samples of the same turn, so that what slows the machine for a while slows
// both.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/kernels/backend.h"
#include "core/timing/probe.h"
#include "core/timing/statistics.h"

namespace quotient::timing {

struct EndToEndOptions {
  double budget_seconds = 10;  // for all executables together
  int min_turns = 4;           // even if they take longer
  int max_turns = 100;
  double sample_us = 2'000;  // runs per sample are chosen for it; one if a run takes longer
  // A run that is not timed in front of each sample brings an executable's data back into the
  // caches, where the others drove it out; left out if a run takes longer than this.
  double warm_below_us = 50'000;
  double confidence = 0.95;
  uint64_t seed = 1;  // of the bootstrap
};

// Microseconds of one run.
struct RunStatistics {
  double median_us = 0;
  double p10_us = 0;
  double p90_us = 0;
  double min_us = 0;
  int samples = 0;
};

// time(candidate) / time(first): below 1, the candidate is faster.
struct RatioStatistics {
  double median = 1;
  Interval interval;  // of the median
  int pairs = 0;
  // Surely faster or slower: the interval leaves out 1.
  bool significant() const { return interval.high < 1 || interval.low > 1; }
};

struct EndToEndResult {
  std::vector<RunStatistics> runs;      // parallel to the executables
  std::vector<RatioStatistics> ratios;  // parallel too; the first against itself: 1
  // Too few samples without an interruption: all were taken, interrupted ones by their CPU time
  // where kernels use one thread.
  bool contaminated = false;
};

// Inputs must be set. To be called in the lane (lane.h). Errors: those of the executables;
// CANCELLED if the token of `stop` is set; a deadline ends it early, after min_turns at the least.
absl::StatusOr<EndToEndResult> MeasureEndToEnd(std::span<kernels::Executable* const> executables,
                                               const EndToEndOptions& options, Probe& probe,
                                               const StopCondition& stop);

}  // namespace quotient::timing
