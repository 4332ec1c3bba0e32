#pragma once

// Measures how long a graph takes as a whole and how its kernels share that time.
//
// Plain runs and runs in which each kernel is timed, by steps or by the device's own profiler,
// alternate, so that what slows the machine down for a while slows both alike. A run's time is the
// lower quartile of the plain runs, and a kernel's time the lower quartile of its own times, in
// both cases of the clean ones unless most are contaminated (probe.h). A disturbance makes only the
// kernel longer during which it happens, so the sum of the kernels is about the time of an
// undisturbed run.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/kernels/backend.h"
#include "core/os/probe.h"

namespace quotient::timing {

struct RunProfileOptions {
  double budget_seconds = 5;  // For all runs together. At least least_pairs are taken.
  int least_pairs = 3;
  int most_pairs = 200;
};

// The time of a kernel in the runs that the device's own profiler recorded.
struct LabelledTime {
  std::string label;  // kernels::RecordedKernel::label.
  double us = 0;
};

struct RunProfile {
  double run_us = 0;  // The time of a plain run.
  // The time of each kernel inside of a run, in the order of Executable::RunInSteps. Empty if the
  // device has no steps.
  std::vector<double> kernel_us;
  // The same of a device that has a profiler instead, in the order of Executable::TakeRecords.
  std::vector<LabelledTime> recorded;
  int runs = 0;  // Number of plain runs that were taken.
  // Whether more than half of the plain runs were contaminated (probe.h). Contaminated runs then
  // count, too.
  bool contaminated = false;
};

// Measures an executable whose inputs have been set. Must be called in the timing lane (lane.h).
// Returns the errors of the executable, and CANCELLED if the token of `stop` is set. A deadline in
// `stop` ends the measurement as the budget does.
absl::StatusOr<RunProfile> ProfileRuns(kernels::Executable& executable,
                                       const RunProfileOptions& options, os::Probe& probe,
                                       const StopCondition& stop);

}  // namespace quotient::timing
