#pragma once

// How kernels are timed (the protocol's version is part of what a stored timing is found by):
//
//   * Every kernel of a batch is run warm, and a sample is given as many runs as make it 0.2 to
//     1 ms long: short enough to fit between two interruptions on a busy machine.
//   * Samples are taken round-robin over the batch, so that a slow second hits all alike.
//   * A sample over which a thread was taken off its core, or waited for one, is contaminated and
//     does not count, unless there are too few clean ones: then its CPU time does. Where the device
//     has a clock of its own, that one counts, and what it says of the sample
//     (kernels::DeviceReading).
//   * A kernel is done when its clean minimum has not improved by 1 % for some rounds and enough
//     samples are clean; one that does not get there in the rounds allowed is noisy.
//   * Noisy ones get more chances a little later: whoever disturbed them may have gone.

#include <memory>
#include <span>
#include <vector>

#include "core/base/stop.h"
#include "core/kernels/backend.h"
#include "core/timing/probe.h"
#include "core/timing/store.h"

namespace quotient::timing {

inline constexpr int kProtocolVersion = 2;

struct Protocol {
  int warm_runs = 3;
  double sample_us = 300;  // aimed at; one run if that takes longer
  int max_runs_per_sample = 4096;
  int min_rounds = 7;
  int max_rounds = 25;
  int stable_rounds = 5;      // without an improvement
  double improvement = 0.01;  // relative
  int min_clean_samples = 5;
  // A slow kernel gets fewer rounds, so that its samples take about this long together, but never
  // fewer than this many.
  double budget_us = 60'000;
  int fewest_rounds = 3;
  int more_chances = 3;      // of noisy kernels
  double pause_us = 20'000;  // before each of them: what disturbs may be over by then
};

// Times the kernels of a batch together; on the calling thread. The results are parallel to
// `kernels`. A kernel that fails is kFailed. When `stop` says so, what has been sampled so far
// decides; kernels without a sample are kFailed.
std::vector<Timing> TimeBatch(std::span<kernels::CompiledKernel* const> kernels,
                              const Protocol& protocol, Probe& probe, const StopCondition& stop);

}  // namespace quotient::timing
