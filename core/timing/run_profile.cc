#include "core/timing/run_profile.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/timing/statistics.h"

namespace quotient::timing {
namespace {

// The times of one thing that was measured several times.
class Samples {
 public:
  void Add(const os::Stopwatch::Reading& reading) {
    all_us_.push_back(reading.us);
    if (reading.clean) clean_us_.push_back(reading.us);
  }
  int count() const { return static_cast<int>(all_us_.size()); }
  // Whether contaminated samples can be left out.
  bool mostly_clean() const { return 2 * clean_us_.size() >= all_us_.size(); }
  double Typical() const { return Quantile(mostly_clean() ? clean_us_ : all_us_, 0.25); }

 private:
  std::vector<double> all_us_;
  std::vector<double> clean_us_;
};

class Profiler {
 public:
  Profiler(kernels::Executable& executable, os::Probe& probe)
      : executable_(executable),
        probe_(probe),
        kernels_(static_cast<size_t>(executable.num_kernels())) {}

  // Touches all memory, and finds out whether the device can run in steps.
  absl::Status WarmUp() {
    QUOTIENT_RETURN_IF_ERROR(executable_.Run());
    const absl::Status status = executable_.RunInSteps([] {});
    has_steps_ = status.ok();
    return absl::IsUnimplemented(status) ? absl::OkStatus() : status;
  }

  absl::Status TakePair() {
    QUOTIENT_RETURN_IF_ERROR(RunWhole());
    return has_steps_ ? RunSteps() : absl::OkStatus();
  }

  RunProfile Result() const {
    RunProfile profile{
        .run_us = runs_.Typical(), .runs = runs_.count(), .contaminated = !runs_.mostly_clean()};
    if (!has_steps_) return profile;
    for (const Samples& kernel : kernels_) profile.kernel_us.push_back(kernel.Typical());
    return profile;
  }

 private:
  absl::Status RunWhole() {
    const os::Stopwatch stopwatch(probe_);
    QUOTIENT_RETURN_IF_ERROR(executable_.Run());
    os::Stopwatch::Reading reading = stopwatch.Stop();
    if (const std::optional<kernels::DeviceReading> own = executable_.reading()) {
      reading = {own->us, own->clean};
    }
    runs_.Add(reading);
    return absl::OkStatus();
  }

  absl::Status RunSteps() {
    size_t kernel = 0;
    std::optional<os::Stopwatch> stopwatch;
    stopwatch.emplace(probe_);
    return executable_.RunInSteps([&] {
      kernels_[kernel++].Add(stopwatch->Stop());
      stopwatch.emplace(probe_);
    });
  }

  kernels::Executable& executable_;
  os::Probe& probe_;
  bool has_steps_ = false;
  Samples runs_;                  // Plain ones.
  std::vector<Samples> kernels_;  // In runs by steps, by kernel.
};

}  // namespace

absl::StatusOr<RunProfile> ProfileRuns(kernels::Executable& executable,
                                       const RunProfileOptions& options, os::Probe& probe,
                                       const StopCondition& stop) {
  Profiler profiler(executable, probe);
  QUOTIENT_RETURN_IF_ERROR(profiler.WarmUp());
  const int64_t deadline = probe.NowNs() + static_cast<int64_t>(options.budget_seconds * 1e9);
  for (int pair = 0; pair < options.most_pairs; ++pair) {
    if (stop.cancelled()) return MakeError(Reason::kCancelled, "cancelled while measuring");
    const bool late = probe.NowNs() >= deadline || stop.ShouldStop();
    if (late && pair >= options.least_pairs) break;
    QUOTIENT_RETURN_IF_ERROR(profiler.TakePair());
  }
  return profiler.Result();
}

}  // namespace quotient::timing
