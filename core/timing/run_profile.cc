#include "core/timing/run_profile.h"

#include <cstdint>
#include <optional>
#include <utility>
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

  // Touches all memory, and finds out how the device tells its kernels apart.
  absl::Status WarmUp() {
    QUOTIENT_RETURN_IF_ERROR(executable_.Run());
    QUOTIENT_ASSIGN_OR_RETURN(has_steps_, Does(executable_.RunInSteps([] {})));
    if (has_steps_) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(has_records_, Does(executable_.RunRecorded()));
    return absl::OkStatus();
  }

  absl::Status TakePair() {
    QUOTIENT_RETURN_IF_ERROR(RunWhole());
    if (has_records_) return executable_.RunRecorded();
    return has_steps_ ? RunSteps() : absl::OkStatus();
  }

  absl::StatusOr<RunProfile> Result() {
    RunProfile profile{
        .run_us = runs_.Typical(), .runs = runs_.count(), .contaminated = !runs_.mostly_clean()};
    if (has_steps_) {
      for (const Samples& kernel : kernels_) profile.kernel_us.push_back(kernel.Typical());
    }
    if (has_records_) {
      QUOTIENT_ASSIGN_OR_RETURN(profile.recorded, Recorded());
    }
    return profile;
  }

 private:
  // Whether the device implements what it has just been asked for.
  static absl::StatusOr<bool> Does(const absl::Status& status) {
    if (absl::IsUnimplemented(status)) return false;
    QUOTIENT_RETURN_IF_ERROR(status);
    return true;
  }

  // The first of the runs, which warmed up, is among the records. The lower quartile does not see
  // it.
  absl::StatusOr<std::vector<LabelledTime>> Recorded() {
    QUOTIENT_ASSIGN_OR_RETURN(std::vector<kernels::RecordedKernel> records,
                              executable_.TakeRecords());
    std::vector<LabelledTime> times;
    for (kernels::RecordedKernel& kernel : records) {
      times.push_back({std::move(kernel.label), Quantile(kernel.us, 0.25)});
    }
    return times;
  }

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
  bool has_steps_ = false;        // Whether the executable runs in steps.
  bool has_records_ = false;      // Whether, without steps, it has a profiler.
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
