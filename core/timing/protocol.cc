#include "core/timing/protocol.h"

#include <algorithm>
#include <cmath>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/timing/statistics.h"

namespace quotient::timing {
namespace {

// Where the device's own clock counts, samples, and all of them together, take at most this many
// times what the protocol gives them by the host's clock, apart from single runs that take longer.
// Runs of a few microseconds that are started from another process have an overhead of this order.
constexpr double kMostOverhead = 100;

// The samples of one kernel.
class Series {
 public:
  Series(kernels::CompiledKernel* kernel, const Protocol& protocol, os::Probe& probe)
      : kernel_(kernel), protocol_(protocol), probe_(probe) {}

  // Warms the kernel up, and chooses the number of runs per sample and the limit on rounds.
  void Calibrate() {
    double fastest_us = 0;
    double fastest_elapsed_us = 0;
    double spent_us = 0;
    for (int i = 0; i < protocol_.warm_runs && !failed_; ++i) {
      const double us = RunTimes(1).us;
      fastest_us = i == 0 ? us : std::min(fastest_us, us);
      fastest_elapsed_us = i == 0 ? elapsed_us_ : std::min(fastest_elapsed_us, elapsed_us_);
      spent_us += elapsed_us_;
      if (spent_us > protocol_.budget_us / 2) break;  // Warming up matters little for slow kernels.
    }
    // A device's clock may say next to nothing of a run that takes long to start and to end.
    fastest_us = std::max({fastest_us, fastest_elapsed_us / kMostOverhead, 1e-3});
    const double most_runs = needs_refresh_ ? 1 : protocol_.max_runs_per_sample;
    runs_ =
        static_cast<int>(std::clamp(std::ceil(protocol_.sample_us / fastest_us), 1.0, most_runs));
    const double rounds = protocol_.budget_us / (fastest_us * runs_);
    max_rounds_ = static_cast<int>(std::clamp(rounds, static_cast<double>(protocol_.fewest_rounds),
                                              static_cast<double>(protocol_.max_rounds)));
  }

  void Sample() {
    const os::Stopwatch::Reading reading = RunTimes(runs_);
    const double us = reading.us / runs_;
    if (failed_) return;
    ++rounds_;
    sampled_us_ += elapsed_us_;
    all_.push_back(us);
    if (reading.clean) {
      clean_.push_back(us);
      if (minimum_ == 0 || us < minimum_ * (1 - protocol_.improvement))
        improved_in_round_ = rounds_;
      minimum_ = minimum_ == 0 ? us : std::min(minimum_, us);
    }
    if (rounds_ >= protocol_.fewest_rounds && sampled_us_ >= protocol_.budget_us) {
      max_rounds_ = std::min(max_rounds_, rounds_);
    }
    if (rounds_ == max_rounds_) goes_on_ = !clean_.empty() && !enough_clean();
  }

  bool done() const {
    if (failed_ || settled()) return true;
    return rounds_ >= max_rounds_ && (!goes_on_ || sampled_us_ >= protocol_.budget_us);
  }

  Timing Result() const {
    Timing timing;
    if (failed_ || all_.empty()) return timing;
    timing.plan = kernel_->plan();
    const std::vector<double>& samples = enough_clean() ? clean_ : all_;
    timing.min_us = *std::min_element(samples.begin(), samples.end());
    timing.q25_us = Quantile(samples, 0.25);
    timing.median_us = Median(samples);
    timing.relative_spread = timing.min_us > 0 ? timing.q25_us / timing.min_us - 1 : 0;
    timing.samples = static_cast<int>(clean_.size());
    const bool cut_short = max_rounds_ < protocol_.max_rounds && enough_clean();
    timing.state = settled() || cut_short ? TimingState::kOk : TimingState::kNoisy;
    return timing;
  }

 private:
  bool enough_clean() const {
    return static_cast<int>(clean_.size()) >= std::min(protocol_.min_clean_samples, max_rounds_);
  }
  bool settled() const {
    return rounds_ >= protocol_.min_rounds && enough_clean() &&
           rounds_ - improved_in_round_ >= protocol_.stable_rounds;
  }

  os::Stopwatch::Reading RunTimes(int times) {
    needs_refresh_ = kernel_->Refresh();
    const os::Stopwatch stopwatch(probe_);
    const absl::Status ran = kernel_->Run(times);
    const os::Stopwatch::Reading reading = stopwatch.Stop();
    elapsed_us_ = reading.wall_us;
    failed_ = !ran.ok();
    if (failed_) {
      Log().warn("a kernel failed while it was timed by plan '{}': {}", kernel_->plan(),
                 std::string(ran.message()));
      return reading;
    }
    const std::optional<kernels::DeviceReading> own = kernel_->reading();
    if (!own.has_value()) return reading;
    return {.us = own->us, .clean = own->clean, .wall_us = reading.wall_us};
  }

  kernels::CompiledKernel* const kernel_;
  const Protocol& protocol_;
  os::Probe& probe_;
  bool failed_ = false;
  bool needs_refresh_ = false;
  int runs_ = 1;
  int max_rounds_ = 0;
  double elapsed_us_ = 0;  // What the last sample took by the host's clock.
  double sampled_us_ = 0;  // What all samples took by it.
  int rounds_ = 0;
  bool goes_on_ = false;  // Beyond max_rounds_.
  int improved_in_round_ = 0;
  double minimum_ = 0;       // Minimum of the clean samples; 0 if there is none yet.
  std::vector<double> all_;  // Microseconds per run, by sample.
  std::vector<double> clean_;
};

// Times all of `kernels` once, without the repetitions for noisy ones.
std::vector<Timing> TimeOnce(std::span<kernels::CompiledKernel* const> kernels,
                             const Protocol& protocol, os::Probe& probe,
                             absl::FunctionRef<bool()> must_end) {
  std::vector<Series> all;
  all.reserve(kernels.size());
  for (kernels::CompiledKernel* kernel : kernels) all.emplace_back(kernel, protocol, probe);
  for (Series& series : all) {
    if (must_end()) break;
    series.Calibrate();
  }
  bool any_left = true;
  while (any_left) {
    any_left = false;
    for (Series& series : all) {
      if (series.done()) continue;
      any_left = !must_end();
      if (!any_left) break;
      series.Sample();
    }
  }
  std::vector<Timing> results;
  for (const Series& series : all) results.push_back(series.Result());
  return results;
}

}  // namespace

std::vector<Timing> TimeBatch(std::span<kernels::CompiledKernel* const> kernels,
                              const Protocol& protocol, os::Probe& probe,
                              absl::FunctionRef<bool()> must_end) {
  std::vector<Timing> results = TimeOnce(kernels, protocol, probe, must_end);
  for (int retry = 0; retry < protocol.max_retries && !must_end(); ++retry) {
    std::vector<kernels::CompiledKernel*> noisy;
    std::vector<size_t> positions;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].state != TimingState::kNoisy) continue;
      noisy.push_back(kernels[i]);
      positions.push_back(i);
    }
    const double most = std::max(1.0, protocol.most_noisy * static_cast<double>(kernels.size()));
    if (noisy.empty() || static_cast<double>(noisy.size()) > most) break;
    absl::SleepFor(absl::Microseconds(protocol.pause_us));
    const std::vector<Timing> again = TimeOnce(noisy, protocol, probe, must_end);
    for (size_t i = 0; i < again.size(); ++i) {
      if (IsBetter(again[i], results[positions[i]])) results[positions[i]] = again[i];
    }
  }
  return results;
}

}  // namespace quotient::timing
