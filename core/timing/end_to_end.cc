#include "core/timing/end_to_end.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/precedence.h"

namespace quotient::timing {
namespace {

struct Sample {
  double us = 0;
  bool clean = false;
  bool taken = false;
};

class Measurement {
 public:
  Measurement(std::span<kernels::Executable* const> executables, const EndToEndOptions& options,
              os::Probe& probe)
      : executables_(executables),
        options_(options),
        probe_(probe),
        runs_(executables.size(), 1),
        racing_(executables.size()) {
    std::iota(racing_.begin(), racing_.end(), size_t{0});
  }

  // Runs each executable once or twice, which touches all of its memory, and derives the number of
  // runs per sample from the time of the last run.
  absl::Status Calibrate() {
    double slowest_us = 0;
    for (size_t i = 0; i < executables_.size(); ++i) {
      double us = 0;
      for (int warm = 0; warm < 2; ++warm) {
        QUOTIENT_ASSIGN_OR_RETURN(const Sample sample, TimeRuns(i, 1));
        us = sample.us;
        if (us > options_.budget_seconds * 1e5) break;
      }
      runs_[i] = RunsPerSample(us);
      slowest_us = std::max(slowest_us, us);
    }
    warm_ = slowest_us < options_.warm_below_us;
    return absl::OkStatus();
  }

  absl::Status TakeTurns(const StopCondition& stop) {
    const int64_t deadline = probe_.NowNs() + static_cast<int64_t>(options_.budget_seconds * 1e9);
    int next_evaluation = options_.first_evaluation;
    for (int turn = 0; turn < options_.max_turns; ++turn) {
      if (stop.cancelled()) return MakeError(Reason::kCancelled, "cancelled while measuring");
      const bool late = probe_.NowNs() >= deadline || stop.ShouldStop();
      if (late && turn >= options_.min_turns) break;
      const bool is_due = turn == next_evaluation;
      const bool looks_for_noise =
          options_.stops_if_contaminated && (is_due || turn == FirstLook());
      if (looks_for_noise && IsMostlyContaminated()) break;
      if (is_due) {
        Evaluate();
        next_evaluation *= 2;
      }
      const double turns_in_time = TurnsInTime(turn, deadline);
      const bool are_few = turns_in_time < kFewEvaluations * options_.first_evaluation;
      if (is_due || (are_few && turn >= options_.min_turns)) {
        DropHopeless(turn / std::min(turns_in_time, static_cast<double>(options_.max_turns)));
        if (racing_.size() == 1 || (is_due && IsSettled())) break;
      }
      const int64_t start = probe_.NowNs();
      QUOTIENT_RETURN_IF_ERROR(TakeTurn(turn % 2 == 0));
      last_turn_ns_ = probe_.NowNs() - start;
    }
    return absl::OkStatus();
  }

  // Of the first executable.
  absl::StatusOr<Disturbance> LookForDisturbance() {
    QUOTIENT_ASSIGN_OR_RETURN(const Sample first, TimeRuns(0, 1));
    runs_[0] = RunsPerSample(first.us);
    if (runs_[0] == 1) samples_.push_back({first});
    const auto count = [this](bool clean) {
      return std::ranges::count_if(samples_,
                                   [&](const auto& row) { return row[0].clean == clean; });
    };
    const auto is_decided = [&] {
      constexpr int kEnoughClean = 2;  // Where none is disturbed.
      constexpr int kEnough = 3;
      constexpr double kMomentUs = 50'000;
      double seen_us = 0;
      for (const auto& row : samples_) seen_us += row[0].us * runs_[0];
      const auto clean = count(true), disturbed = count(false);
      if (disturbed == 0) return clean >= kEnoughClean;
      return clean != disturbed && std::max(clean, disturbed) >= kEnough && seen_us >= kMomentUs;
    };
    while (!is_decided()) {
      QUOTIENT_ASSIGN_OR_RETURN(const Sample sample, TimeRuns(0, runs_[0]));
      samples_.push_back({sample});
    }
    return Disturbance{RunsOf(0), count(false) > count(true)};
  }

  EndToEndResult Result() const {
    EndToEndResult result;
    result.contaminated = !IsMostlyClean();
    for (size_t i = 0; i < executables_.size(); ++i) {
      result.runs.push_back(RunsOf(i));
      result.ratios.push_back(RatioOf(i));
    }
    return result;
  }

 private:
  // If there is time for fewer turns than this many times first_evaluation, candidates without a
  // chance are dropped after any turn, not only at the evaluations that first_evaluation schedules.
  static constexpr double kFewEvaluations = 4;

  // After how many turns their samples show whether the machine is busy.
  int FirstLook() const {
    constexpr int kFewest = 4;
    return std::max(kFewest, options_.min_turns);
  }

  size_t rows_per_turn() const { return warm_ ? options_.samples_per_visit : 1; }

  absl::Status TakeTurn(bool forwards) {
    const size_t first = samples_.size();
    samples_.resize(first + rows_per_turn(), std::vector<Sample>(executables_.size()));
    for (size_t k = 0; k < racing_.size(); ++k) {
      const size_t i = racing_[forwards ? k : racing_.size() - 1 - k];
      if (warm_) QUOTIENT_RETURN_IF_ERROR(executables_[i]->Run());
      for (size_t row = first; row < samples_.size(); ++row) {
        QUOTIENT_ASSIGN_OR_RETURN(samples_[row][i], TimeRuns(i, runs_[i]));
      }
    }
    return absl::OkStatus();
  }

  int RunsPerSample(double run_us) const {
    return static_cast<int>(
        std::clamp(std::ceil(options_.sample_us / std::max(run_us, 1e-3)), 1.0, 1000.0));
  }

  absl::StatusOr<Sample> TimeRuns(size_t i, int runs) {
    const os::Stopwatch stopwatch(probe_);
    kernels::DeviceReading own{0, true};
    bool has_own = true;
    for (int run = 0; run < runs; ++run) {
      QUOTIENT_RETURN_IF_ERROR(executables_[i]->Run());
      const std::optional<kernels::DeviceReading> one = executables_[i]->reading();
      has_own = has_own && one.has_value();
      if (has_own) own = {own.us + one->us, own.clean && one->clean};
    }
    const os::Stopwatch::Reading reading = stopwatch.Stop();
    os::LeaveShareToOthers(reading.wall_us);
    if (has_own) return Sample{own.us / runs, own.clean, true};
    return Sample{reading.us / runs, reading.clean, true};
  }

  // Evaluates the samples and drops candidates from racing_.
  void Evaluate() {
    std::vector<std::pair<double, size_t>> left;  // ratio, executable
    for (size_t i : racing_) {
      const RatioStatistics ratio = RatioOf(i);
      if (i > 0 && ratio.interval.low < 1 - options_.least_gain) left.push_back({ratio.value, i});
    }
    std::sort(left.begin(), left.end());
    left.resize((left.size() + 1) / 2);
    racing_ = {0};
    for (const auto& [ratio, i] : left) racing_.push_back(i);
  }

  // Estimates the number of turns at the end of the budget, if each takes as long as the last one.
  double TurnsInTime(int turn, int64_t deadline) const {
    const auto left = static_cast<double>(deadline - probe_.NowNs());
    const double more = left / static_cast<double>(std::max<int64_t>(last_turn_ns_, 1));
    return turn + std::max(more, 0.0);
  }

  // Drops candidates that can no longer be shown to be faster than the first executable. `share` is
  // the part of all turns taken so far. As this never declares a candidate faster, looking often
  // does not make a false winner more likely.
  void DropHopeless(double share) {
    std::erase_if(racing_, [&](size_t i) {
      // The ratios of a busy machine come in groups, one for each pair of speeds. Their interval is
      // as wide as the groups are far apart until it has shrunk into one of them, so it does not
      // tell how wide it will be.
      if (i == 0 || !IsMostlyClean(i)) return false;
      const RatioStatistics ratio = RatioOf(i);
      if (ratio.pairs < kFewestPairs) return false;
      // Intervals shrink with the root of the number of samples. The ratio may still turn out lower
      // by half of its present uncertainty.
      const double half = (ratio.interval.high - ratio.interval.low) / 2;
      return ratio.value - half / 2 + half * std::sqrt(share) >= 1;
    });
  }

  bool IsSettled() const {
    if (racing_.size() > 2) return false;
    return racing_.size() == 1 || RatioOf(racing_[1]).surely_faster();
  }

  // The share of an executable's samples that are clean, as are those of the first one with which
  // they were taken.
  double CleanShare(size_t i) const {
    const auto taken = [i](const std::vector<Sample>& row) { return row[i].taken; };
    const auto clean = [i](const std::vector<Sample>& row) { return row[0].clean && row[i].clean; };
    return static_cast<double>(std::ranges::count_if(samples_, clean)) /
           static_cast<double>(std::max<int64_t>(std::ranges::count_if(samples_, taken), 1));
  }

  // Whether so many are that contaminated ones can be left out.
  bool IsMostlyClean(size_t i) const { return CleanShare(i) >= 0.5; }

  // Whether that holds for all that still race.
  bool IsMostlyClean() const {
    return std::ranges::all_of(racing_, [this](size_t i) { return IsMostlyClean(i); });
  }

  // Whether two thirds of the samples of one that still races are contaminated.
  bool IsMostlyContaminated() const {
    return std::ranges::any_of(racing_, [this](size_t i) { return 3 * CleanShare(i) <= 1; });
  }

  // The fastest samples of an executable's visits, and those of the first one in the same turns.
  struct Visits {
    std::vector<double> own;
    std::vector<double> first;
  };

  // Of the samples that count: the clean ones if most are. Without visits where none of them is.
  Visits VisitsOf(size_t i) const {
    const bool clean_only = IsMostlyClean(i);
    Visits visits;
    const size_t rows = rows_per_turn();
    for (size_t row = 0; row < samples_.size() && samples_[row][i].taken; row += rows) {
      std::optional<double> own, first;
      for (size_t k = row; k < row + rows; ++k) {
        const Sample& a = samples_[k][i];
        const Sample& b = samples_[k][0];
        if (!clean_only || a.clean) own = std::min(own.value_or(a.us), a.us);
        if (!clean_only || b.clean) first = std::min(first.value_or(b.us), b.us);
      }
      if (!own.has_value() || !first.has_value()) continue;
      visits.own.push_back(*own);
      visits.first.push_back(*first);
    }
    return visits;
  }

  RunStatistics RunsOf(size_t i) const {
    std::vector<double> samples;
    if (IsMostlyClean(i)) {
      for (const std::vector<Sample>& row : samples_) {
        if (row[i].taken && row[i].clean) samples.push_back(row[i].us);
      }
    } else {
      samples = VisitsOf(i).own;
    }
    return {Median(samples), Quantile(samples, 0.1), Quantile(samples, 0.9),
            *std::min_element(samples.begin(), samples.end()), static_cast<int>(samples.size())};
  }

  RatioStatistics RatioOf(size_t i) const {
    const Visits visits = VisitsOf(i);
    std::vector<double> ratios;
    for (size_t k = 0; k < visits.own.size(); ++k) {
      ratios.push_back(visits.own[k] / visits.first[k]);
    }
    if (ratios.empty()) return {};
    // Of few ratios an interval of less confidence says more of their spread.
    constexpr double kConfidence = 0.9;
    constexpr double kWidth = 2 * 1.645;  // Of that interval, in standard deviations.
    const Interval inner = MedianInterval(ratios, kConfidence);
    return {.value = Median(ratios),
            .interval = MedianInterval(ratios, options_.confidence),
            .log_sd = std::log(inner.high / inner.low) / kWidth,
            .pairs = static_cast<int>(ratios.size())};
  }

  const std::span<kernels::Executable* const> executables_;
  const EndToEndOptions& options_;
  os::Probe& probe_;
  std::vector<int> runs_;  // Runs per sample, by executable.
  bool warm_ = false;      // Whether visits begin with an untimed run; see warm_below_us.
  int64_t last_turn_ns_ = 0;
  std::vector<size_t> racing_;  // Indices of executables that are still run; always has the first.
  // Each row has one sample per executable, all from the same turn.
  std::vector<std::vector<Sample>> samples_;
};

}  // namespace

RatioStatistics Pooled(const RatioStatistics& a, const RatioStatistics& b) {
  return {.value = std::sqrt(a.value * b.value),
          .interval = {std::min(a.interval.low, b.interval.low),
                       std::max(a.interval.high, b.interval.high)},
          .log_sd = std::max(a.log_sd, b.log_sd),
          .pairs = a.pairs + b.pairs,
          .log_difference = std::abs(std::log(a.value / b.value))};
}

absl::StatusOr<Disturbance> LookForDisturbance(kernels::Executable& executable,
                                               const EndToEndOptions& options, os::Probe& probe) {
  kernels::Executable* const executables[] = {&executable};
  return Measurement(executables, options, probe).LookForDisturbance();
}

absl::StatusOr<EndToEndResult> MeasureEndToEnd(std::span<kernels::Executable* const> executables,
                                               const EndToEndOptions& options, os::Probe& probe,
                                               const StopCondition& stop) {
  Measurement measurement(executables, options, probe);
  QUOTIENT_RETURN_IF_ERROR(measurement.Calibrate());
  QUOTIENT_RETURN_IF_ERROR(measurement.TakeTurns(stop));
  return measurement.Result();
}

}  // namespace quotient::timing
