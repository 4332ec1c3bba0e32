#pragma once

// The protocol by which kernels are timed. Its version is part of the key under which timings are
// stored.
//
//   1. Every kernel of a batch is warmed up. The number of runs per sample is chosen to make a
//      sample about sample_us long (at least one run): short enough to fit between two
//      interruptions on a busy machine. A kernel whose data does not stay in the cache from run to
//      run has one run per sample, with operands that were written just before
//      (kernels::CompiledKernel::Refresh), as in a graph.
//   2. Samples are taken round-robin over the batch, so that a period in which the machine is slow
//      affects all kernels alike.
//   3. A sample whose threads were without a core for too long is contaminated (probe.h). It is
//      ignored unless there are too few clean samples; then it counts by its CPU time, or by the
//      clock if kernels use several threads (service.h says what is done about these).
//      If the device has a clock of its own, that clock decides on both the time and whether the
//      sample is clean (kernels::DeviceReading).
//   4. A kernel is done when enough of its samples are clean and its clean minimum has not improved
//      by 1 % for stable_rounds rounds. If that does not happen within max_rounds, it is noisy; a
//      slow kernel, which gets fewer rounds, only needs enough clean samples. If some samples are
//      clean but not enough, as on a machine that is kept busy, it gets more rounds, for budget_us.
//   5. Noisy kernels are timed again after a pause, since the disturbance may have ended, unless
//      they are so many that it has not.

#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/kernels/backend.h"
#include "core/os/probe.h"
#include "core/timing/store.h"

namespace quotient::timing {

inline constexpr int kProtocolVersion = 4;

struct Protocol {
  int warm_runs = 3;
  double sample_us = 300;  // Target length of a sample, which has at least one run.
  int max_runs_per_sample = 4096;
  int min_rounds = 7;
  int max_rounds = 25;
  int stable_rounds = 5;      // Rounds without an improvement after which a kernel is done.
  double improvement = 0.01;  // Least relative change of the minimum that is an improvement.
  int min_clean_samples = 5;
  // A slow kernel gets fewer than max_rounds, so that all its samples together take about
  // budget_us, whatever a device's own clock says of them, but at least fewest_rounds.
  double budget_us = 60'000;
  int fewest_rounds = 3;
  int max_retries = 1;       // How often noisy kernels are timed again.
  double pause_us = 20'000;  // Pause before each of these attempts.
  double most_noisy = 1;     // If a larger share of a batch is noisy, and more than one kernel,
                             // nothing is timed again.
};

// Times the kernels of a batch together, on the calling thread. The results are parallel to
// `kernels`. A kernel whose run fails is kFailed. `must_end` is asked before each sample. Once it
// is true, sampling ends and the results are computed from the samples so far; kernels without a
// sample are kFailed.
std::vector<Timing> TimeBatch(std::span<kernels::CompiledKernel* const> kernels,
                              const Protocol& protocol, os::Probe& probe,
                              absl::FunctionRef<bool()> must_end);

}  // namespace quotient::timing
