#include "core/timing/end_to_end.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::timing {
namespace {

// One executable's visit of one turn.
struct Sample {
  double us = 0;
  bool clean = false;
};

class Measurement {
 public:
  Measurement(std::span<kernels::Executable* const> executables, const EndToEndOptions& options,
              Probe& probe)
      : executables_(executables), options_(options), probe_(probe), runs_(executables.size(), 1) {}

  // First runs: touch all memory, and tell how long a run takes.
  absl::Status Calibrate() {
    double slowest_us = 0;
    for (size_t i = 0; i < executables_.size(); ++i) {
      double us = 0;
      for (int warm = 0; warm < 2; ++warm) {
        QUOTIENT_ASSIGN_OR_RETURN(const Sample sample, TimeRuns(i, 1));
        us = sample.us;
        if (us > options_.budget_seconds * 1e5) break;
      }
      runs_[i] = static_cast<int>(
          std::clamp(std::ceil(options_.sample_us / std::max(us, 1e-3)), 1.0, 1000.0));
      slowest_us = std::max(slowest_us, us);
    }
    warm_ = slowest_us < options_.warm_below_us;
    return absl::OkStatus();
  }

  absl::Status TakeTurns(const StopCondition& stop) {
    const int64_t deadline = probe_.NowNs() + static_cast<int64_t>(options_.budget_seconds * 1e9);
    for (int turn = 0; turn < options_.max_turns; ++turn) {
      if (stop.cancelled()) return MakeError(Reason::kCancelled, "cancelled while measuring");
      const bool late = probe_.NowNs() >= deadline || stop.ShouldStop();
      if (late && turn >= options_.min_turns) break;
      std::vector<Sample>& samples = turns_.emplace_back(executables_.size());
      for (size_t k = 0; k < executables_.size(); ++k) {
        const size_t i = turn % 2 == 0 ? k : executables_.size() - 1 - k;
        QUOTIENT_ASSIGN_OR_RETURN(samples[i], Visit(i));
      }
    }
    return absl::OkStatus();
  }

  EndToEndResult Result() const {
    EndToEndResult result;
    bool clean_only = true;
    for (size_t i = 0; i < executables_.size(); ++i) {
      clean_only &= static_cast<int>(Ratios(i, true).size()) >= options_.min_turns;
    }
    result.contaminated = !clean_only;
    for (size_t i = 0; i < executables_.size(); ++i) {
      result.runs.push_back(RunsOf(i, clean_only));
      result.ratios.push_back(RatiosOf(i, clean_only));
    }
    return result;
  }

 private:
  absl::StatusOr<Sample> TimeRuns(size_t i, int runs) {
    const Stopwatch stopwatch(probe_);
    for (int run = 0; run < runs; ++run) QUOTIENT_RETURN_IF_ERROR(executables_[i]->Run());
    const Stopwatch::Reading reading = stopwatch.Stop();
    return Sample{reading.us / runs, reading.clean};
  }

  absl::StatusOr<Sample> Visit(size_t i) {
    if (warm_) QUOTIENT_RETURN_IF_ERROR(executables_[i]->Run());
    return TimeRuns(i, runs_[i]);
  }

  // Of the turns in which both samples are clean, or of all turns.
  std::vector<double> Ratios(size_t i, bool clean_only) const {
    std::vector<double> ratios;
    for (const std::vector<Sample>& turn : turns_) {
      if (clean_only && !(turn[0].clean && turn[i].clean)) continue;
      if (turn[0].us > 0) ratios.push_back(turn[i].us / turn[0].us);
    }
    return ratios;
  }

  RunStatistics RunsOf(size_t i, bool clean_only) const {
    std::vector<double> samples;
    for (const std::vector<Sample>& turn : turns_) {
      if (!clean_only || turn[i].clean) samples.push_back(turn[i].us);
    }
    if (samples.empty()) return {};
    return {Median(samples), Quantile(samples, 0.1), Quantile(samples, 0.9),
            *std::min_element(samples.begin(), samples.end()), static_cast<int>(samples.size())};
  }

  RatioStatistics RatiosOf(size_t i, bool clean_only) const {
    const std::vector<double> ratios = Ratios(i, clean_only);
    if (ratios.empty()) return {};
    return {Median(ratios), BootstrapMedian(ratios, options_.confidence, options_.seed),
            static_cast<int>(ratios.size())};
  }

  const std::span<kernels::Executable* const> executables_;
  const EndToEndOptions& options_;
  Probe& probe_;
  std::vector<int> runs_;  // per sample, by executable
  bool warm_ = false;
  std::vector<std::vector<Sample>> turns_;  // by turn, by executable
};

}  // namespace

absl::StatusOr<EndToEndResult> MeasureEndToEnd(std::span<kernels::Executable* const> executables,
                                               const EndToEndOptions& options, Probe& probe,
                                               const StopCondition& stop) {
  Measurement measurement(executables, options, probe);
  QUOTIENT_RETURN_IF_ERROR(measurement.Calibrate());
  QUOTIENT_RETURN_IF_ERROR(measurement.TakeTurns(stop));
  return measurement.Result();
}

}  // namespace quotient::timing
