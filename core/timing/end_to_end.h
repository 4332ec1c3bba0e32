#pragma once

// Whole graphs against each other: the measurement that decides.
//
// All executables are run in turn, forwards and backwards (A B C, C B A, ...), in one process on
// one set of threads; each visit gives a sample, so that what slows the machine for a while slows
// all alike. Candidates are compared with the first executable by the ratio of the lower quartiles:
// what disturbs a run only makes it longer, so the lower part of the samples says most.
//
// Now and then the samples are looked at: candidates that are surely not worth it leave, and so
// does the slower half of the others (successive halving), until one is left that is surely faster,
// or none, or time is up.

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
  double budget_seconds = 30;  // for all executables together
  int min_turns = 6;           // even if they take longer
  int first_look = 16;         // after so many turns, then at twice as many, and so on
  int max_turns = 512;
  double sample_us = 2'000;  // runs per sample are chosen for it; one if a run takes longer
  // A visit begins with a run that is not timed: it brings an executable's data back into the
  // caches, where the others drove it out. Then it gives so many samples.
  int samples_per_visit = 3;
  // If a run takes longer than this, a visit is one sample and nothing else.
  double warm_below_us = 50'000;
  // A candidate that is surely less than this faster is of no interest. Relative.
  double least_gain = 0.002;
  double confidence = 0.99;  // of one look: there are up to six
  uint64_t seed = 1;         // of the bootstrap
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
  double value = 1;  // of the lower quartiles
  Interval interval{1, 1};
  double of_medians = 1;
  int pairs = 0;
  // Faster, by every measure that a report shows.
  bool surely_faster() const { return interval.high < 1 && of_medians < 1; }
};

struct EndToEndResult {
  std::vector<RunStatistics> runs;      // parallel to the executables
  std::vector<RatioStatistics> ratios;  // parallel too; the first against itself: 1
  // More than half of the turns were interrupted: all were taken, interrupted samples by their CPU
  // time where kernels use one thread.
  bool contaminated = false;
};

// Inputs must be set. To be called in the lane (lane.h). Errors: those of the executables;
// CANCELLED if the token of `stop` is set; a deadline ends it early, after min_turns at the least.
absl::StatusOr<EndToEndResult> MeasureEndToEnd(std::span<kernels::Executable* const> executables,
                                               const EndToEndOptions& options, Probe& probe,
                                               const StopCondition& stop);

}  // namespace quotient::timing
