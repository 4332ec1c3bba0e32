#include "core/optimize/contest.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/evidence.h"
#include "core/optimize/graph_runs.h"
#include "core/optimize/memory.h"
#include "core/os/probe.h"

namespace quotient::optimize {
namespace {

// Where the time is only enough for a few runs, some more of them would not settle the question
// either. Judge then relies more on predictions.
constexpr int kFewestTurns = 3;
constexpr timing::EndToEndOptions kMeasuring{.min_turns = kFewestTurns, .least_gain = kLeastGain};

int64_t DeadlineOf(const MeasureContext& context, int64_t start_ns) {
  return start_ns + static_cast<int64_t>(context.options.seconds * 1e9);
}

std::vector<Contender*> Doubtful(const MeasureContext& context, Contest* contest) {
  std::vector<Contender*> doubtful;
  for (Contender& contender : contest->contenders) {
    if (IsDoubtful(contender.ratio,
                   PredictionOf(context.cost, contender.candidate.packaged.cost))) {
      doubtful.push_back(&contender);
    }
  }
  return doubtful;
}

// Runs the doubtful contenders (IsDoubtful) once more. It takes about as long as the first runs, so
// it is begun only if there is half of that time.
absl::Status RunDoubtfulAgain(const MeasureContext& context, int64_t start_ns,
                              const StopCondition& stop, Contest* contest) {
  const int64_t deadline_ns = DeadlineOf(context, start_ns);
  const int64_t now_ns = Clock::System().NowNs();
  if (contest->contaminated || deadline_ns - now_ns < (now_ns - start_ns) / 2) {
    return absl::OkStatus();
  }
  const std::vector<Contender*> contenders = Doubtful(context, contest);
  if (contenders.empty()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const Ratios result,
                            RunAnew(context, contenders, kMeasuring, deadline_ns, stop));
  if (result.contaminated) return absl::OkStatus();  // What was undisturbed stays as it is.
  for (size_t i = 0; i < contenders.size(); ++i) {
    timing::RatioStatistics& ratio = contenders[i]->ratio;
    Log().info("compiled anew: ratio {:.4f} [{:.4f}, {:.4f}] after {:.4f}", result.ratios[i].value,
               result.ratios[i].interval.low, result.ratios[i].interval.high, ratio.value);
    if (result.ratios[i].pairs > 0) ratio = timing::Pooled(ratio, result.ratios[i]);
  }
  return absl::OkStatus();
}

std::vector<Verified> CandidatesOf(std::vector<Contender> contenders) {
  std::vector<Verified> candidates;
  for (Contender& contender : contenders) {
    candidates.push_back(std::move(contender.candidate));
  }
  return candidates;
}

// Compares CPU times of runs on one thread, by a device that is opened for one.
class OneThreadRace {
 public:
  OneThreadRace(const MeasureContext& context, Device& device)
      : whole_(context), context_{context.original, context.cost,      context.files,
                                  context.inputs,   context.reference, *device.backend(),
                                  context.lane,     device.plans(),    OptionsFor(context)} {}

  // `contest`: the disturbed one on all threads, of which the runs of the original stay. Candidates
  // run only once if there is no time for more.
  absl::StatusOr<Contest> Run(Contest contest, int64_t start_ns, const StopCondition& stop,
                              std::vector<std::string>* failures) const {
    contest.original_tells_no_time = true;
    const bool has_time = HasTime(contest, start_ns);
    std::vector<Verified> candidates = CandidatesOf(std::exchange(contest.contenders, {}));
    if (!has_time) {
      for (Verified& candidate : candidates) {
        if (stop.cancelled()) return MakeError(Reason::kCancelled, "cancelled while measuring");
        RunOnce(std::move(candidate), &contest, failures);
      }
      return contest;
    }
    QUOTIENT_ASSIGN_OR_RETURN(const Tried tried, TryOriginal(context_));
    timing::EndToEndOptions measuring = kMeasuring;
    // However late it begins, it is a race as long as another one.
    measuring.budget_seconds =
        std::max(SecondsUntil(DeadlineOf(whole_, start_ns)), whole_.options.seconds);
    QUOTIENT_ASSIGN_OR_RETURN(
        Contest shown, RunAll(context_, tried, std::move(candidates), measuring, stop, failures));
    contest.contenders = std::move(shown.contenders);
    for (Contender& contender : contest.contenders) {
      contender.cpu_time = std::exchange(contender.ratio, {});
      contender.runs = {};
    }
    return contest;
  }

 private:
  static MeasureOptions OptionsFor(const MeasureContext& context) {
    MeasureOptions options = context.options;
    options.threads = 1;
    return options;
  }

  void RunOnce(Verified candidate, Contest* contest, std::vector<std::string>* failures) const {
    std::vector<Verified> one;
    one.push_back(std::move(candidate));
    for (Runnable& each : TryAll(context_, std::move(one), failures)) {
      contest->contenders.push_back({.candidate = std::move(each.candidate),
                                     .error_norm = each.tried.error_norm,
                                     .cpu_time = timing::RatioStatistics{}});
    }
  }

  // Whether the fewest turns of all of them fit into the time, or take not much longer than a race
  // that was not disturbed may: on a busy machine everything takes longer, and a gain that nobody
  // could measure is lost.
  bool HasTime(const Contest& contest, int64_t start_ns) const {
    const auto graphs = static_cast<double>(contest.contenders.size() + 1);
    const double turn_seconds = graphs * contest.original.min_us * whole_.options.threads * 1e-6;
    const double left_seconds = SecondsUntil(DeadlineOf(whole_, start_ns));
    constexpr int kFirstRuns = 2;  // Of each graph, before the race.
    constexpr double kMostOfRace = 3;
    return (kFirstRuns + kFewestTurns) * turn_seconds <
           std::max(left_seconds, kMostOfRace * whole_.options.seconds);
  }

  const MeasureContext& whole_;
  const MeasureContext context_;
};

// Runs the original for a moment, and then all against each other, unless other work on the machine
// disturbs that and there is a better way.
absl::StatusOr<Contest> RunOnAllThreads(const MeasureContext& context, bool looks_for_noise,
                                        double seconds, std::vector<Verified> candidates,
                                        const StopCondition& stop,
                                        std::vector<std::string>* failures) {
  QUOTIENT_ASSIGN_OR_RETURN(const Tried original, TryOriginal(context));
  if (looks_for_noise) {
    const std::unique_ptr<os::Probe> probe = os::NewSystemProbe(context.options.threads);
    QUOTIENT_ASSIGN_OR_RETURN(const timing::Disturbance found,
                              timing::LookForDisturbance(*original.executable, kMeasuring, *probe));
    if (found.disturbed) {
      Contest contest{
          .original = found.runs, .original_error_norm = original.error_norm, .contaminated = true};
      for (Verified& candidate : candidates) {
        contest.contenders.push_back({.candidate = std::move(candidate)});
      }
      return contest;
    }
  }
  timing::EndToEndOptions measuring = kMeasuring;
  measuring.budget_seconds = seconds;
  measuring.stops_if_contaminated = looks_for_noise;
  return RunAll(context, original, std::move(candidates), measuring, stop, failures);
}

bool HasRatios(const Contest& contest) {
  return std::ranges::any_of(contest.contenders,
                             [](const Contender& contender) { return contender.ratio.pairs > 0; });
}

// What is run instead where a contest was disturbed.
absl::StatusOr<Contest> RunDisturbed(const MeasureContext& context, const Contest& contest,
                                     int64_t start_ns, const StopCondition& stop,
                                     std::vector<std::string>* failures) {
  const auto no_memory = []() -> absl::StatusOr<Contest> {
    return absl::ResourceExhaustedError("no memory is left");
  };
  std::vector<std::string> failed;
  // The two devices take turns, and so do their processes with the memory that these have come to.
  const auto run = [&]() -> absl::StatusOr<Contest> {
    context.backend.Rest();
    QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, context.one_thread());
    absl::StatusOr<Contest> shown =
        OneThreadRace(context, *device).Run(contest, start_ns, stop, &failed);
    device->backend()->Rest();
    return shown;
  };
  absl::StatusOr<Contest> alone = WithinMemory(run, no_memory);
  if (alone.ok()) std::ranges::move(failed, std::back_inserter(*failures));
  if (alone.ok() || absl::IsCancelled(alone.status())) return alone;
  Log().warn("CPU times are not known: {}", Escaped(alone.status().message()));
  const auto run_again = [&] {
    return RunOnAllThreads(context, /*looks_for_noise=*/false,
                           SecondsUntil(DeadlineOf(context, start_ns)),
                           CandidatesOf(contest.contenders), stop, failures);
  };
  absl::StatusOr<Contest> again = WithinMemory(run_again, no_memory);
  if (again.ok() || absl::IsCancelled(again.status()) || !HasRatios(contest)) return again;
  return contest;
}

}  // namespace

absl::StatusOr<Contest> RunContest(const MeasureContext& context, std::vector<Verified> candidates,
                                   const StopCondition& stop, std::vector<std::string>* failures) {
  const int64_t start_ns = Clock::System().NowNs();
  const bool looks_for_noise = context.one_thread != nullptr && !candidates.empty();
  QUOTIENT_ASSIGN_OR_RETURN(Contest contest,
                            RunOnAllThreads(context, looks_for_noise, context.options.seconds,
                                            std::move(candidates), stop, failures));
  if (contest.contenders.empty()) return contest;
  if (contest.contaminated && looks_for_noise) {
    return RunDisturbed(context, contest, start_ns, stop, failures);
  }
  // What the first runs have shown is there, whatever happens to the others.
  const absl::Status again =
      WithinMemory([&] { return RunDoubtfulAgain(context, start_ns, stop, &contest); },
                   [] { return absl::ResourceExhaustedError("no memory is left"); });
  if (absl::IsCancelled(again)) return again;
  if (!again.ok()) Log().warn("graphs were not run again: {}", Escaped(again.message()));
  return contest;
}

}  // namespace quotient::optimize
