#include "core/optimize/decide.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/optimize/evidence.h"
#include "core/optimize/same_kernels.h"
#include "core/optimize/subject.h"
#include "core/optimize/subset_of_work.h"
#include "core/os/files.h"
#include "core/os/probe.h"
#include "core/timing/end_to_end.h"

namespace quotient::optimize {
namespace {

report::Measured ToMeasured(const timing::RunStatistics& runs, std::optional<double> error_norm) {
  return {runs.median_us, runs.p10_us, runs.p90_us, runs.samples, error_norm};
}

Subject OriginalOf(const MeasureContext& context) {
  return {context.original.model.graph,
          context.original.cut,
          {context.files.model, context.files.external_data, nullptr}};
}

Subject SubjectOf(const Packaged& packaged) {
  const onnx::WrittenModel& written = packaged.written->model;
  return {packaged.prepared.model.graph,
          packaged.prepared.cut,
          {written.bytes, written.weights, nullptr}};
}

absl::StatusOr<std::unique_ptr<kernels::Executable>> Compile(const MeasureContext& context,
                                                             const Subject& subject) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<model::Tensor> inputs,
                            verify::MatchInputs(context.original.cut, context.inputs, subject.cut));
  return CompileSubject(subject, inputs, context.backend, context.plans);
}

// Runs once and looks at what comes out. Returns the relative norm of its error, or nullopt if
// there is nothing to compare it with.
absl::StatusOr<std::optional<double>> RunOnce(kernels::Executable& executable,
                                              const verify::CutGraph& cut,
                                              const MeasureContext& context) {
  QUOTIENT_RETURN_IF_ERROR(executable.Run());
  if (context.reference == nullptr) return std::nullopt;
  // A file is run with the nodes that the reference knows nothing of.
  if (context.backend.runs_files() && cut.cut_nodes > 0) return std::nullopt;
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<model::Tensor> outputs, executable.GetOutputs());
  QUOTIENT_ASSIGN_OR_RETURN(const double norm,
                            context.reference->CheckRun(cut, executable.output_values(), outputs,
                                                        context.options.arithmetic));
  Log().info("what the device computes is off by {:.2e} of its norm", norm);
  return norm;
}

// A graph that can be run, and the relative norm of the error of what comes out.
struct Tried {
  std::unique_ptr<kernels::Executable> executable;
  std::optional<double> error_norm;
};

absl::StatusOr<Tried> CompileAndRunOnce(const MeasureContext& context, const Subject& subject) {
  Tried tried;
  QUOTIENT_ASSIGN_OR_RETURN(tried.executable, Compile(context, subject));
  os::ReleaseMappedFiles();  // Candidates refer to the weights there, too.
  QUOTIENT_ASSIGN_OR_RETURN(tried.error_norm, RunOnce(*tried.executable, subject.cut, context));
  return tried;
}

// A candidate that can be run.
struct Runnable {
  Verified candidate;
  Tried tried;
};

std::vector<Runnable> CompileAll(const MeasureContext& context, std::vector<Verified> candidates,
                                 std::vector<std::string>* failures) {
  std::vector<Runnable> runnable;
  for (Verified& candidate : candidates) {
    auto tried = CompileAndRunOnce(context, SubjectOf(candidate.packaged));
    if (tried.ok()) {
      runnable.push_back({std::move(candidate), *std::move(tried)});
    } else {
      failures->push_back(std::string(tried.status().message()));
    }
  }
  return runnable;
}

// A candidate that was run against the original.
struct Contender {
  Verified candidate;
  timing::RunStatistics runs;
  timing::RatioStatistics ratio;
  std::optional<double> error_norm;
};

struct Contest {
  timing::RunStatistics original;
  std::optional<double> original_error_norm;
  std::vector<Contender> contenders;
  bool contaminated = false;
};

// Runs candidates against the original, and adds what came of it to the contest.
absl::Status RunGroup(const MeasureContext& context, const Tried& original,
                      std::vector<Verified> candidates, const timing::EndToEndOptions& measuring,
                      const StopCondition& stop, std::vector<std::string>* failures,
                      Contest* contest) {
  std::vector<Runnable> runnable = CompileAll(context, std::move(candidates), failures);
  std::vector<kernels::Executable*> executables = {original.executable.get()};
  for (const Runnable& each : runnable) executables.push_back(each.tried.executable.get());
  const std::unique_ptr<os::Probe> probe = os::NewSystemProbe(context.options.threads);
  QUOTIENT_ASSIGN_OR_RETURN(const timing::EndToEndResult result,
                            timing::MeasureEndToEnd(executables, measuring, *probe, stop));
  if (contest->contenders.empty()) contest->original = result.runs.front();
  contest->contaminated |= result.contaminated;
  const auto runs = std::span(result.runs).subspan<1>();
  const auto ratios = std::span(result.ratios).subspan<1>();
  for (size_t i = 0; i < runnable.size(); ++i) {
    contest->contenders.push_back(
        {std::move(runnable[i].candidate), runs[i], ratios[i], runnable[i].tried.error_norm});
  }
  return absl::OkStatus();
}

// Runs the original and all candidates against each other, as many at a time as may be loaded. Must
// be called in the lane.
absl::StatusOr<Contest> RunAll(const MeasureContext& context, std::vector<Verified> candidates,
                               const timing::EndToEndOptions& measuring, const StopCondition& stop,
                               std::vector<std::string>* failures) {
  QUOTIENT_ASSIGN_OR_RETURN(const Tried original, CompileAndRunOnce(context, OriginalOf(context)));
  Contest contest{.original_error_norm = original.error_norm};
  const size_t most = std::max<size_t>(context.options.graphs_at_once, 2) - 1;
  const size_t count = candidates.size();
  size_t first = 0;
  do {
    const size_t size = std::min(most, count - first);
    const auto begin = std::make_move_iterator(candidates.begin() + static_cast<long>(first));
    std::vector<Verified> group(begin, begin + static_cast<long>(size));
    timing::EndToEndOptions share = measuring;
    if (size < count) {
      share.budget_seconds *= static_cast<double>(size) / static_cast<double>(count);
    }
    QUOTIENT_RETURN_IF_ERROR(
        RunGroup(context, original, std::move(group), share, stop, failures, &contest));
    first += size;
  } while (first < count);
  return contest;
}

bool Runs(const cost::GraphCost& graph) {
  return std::ranges::none_of(graph.costs, &cost::KernelCost::unsupported);
}

// What the predicted costs say of a candidate. Estimates are optimistic, so they say nothing of
// graphs that need different ones.
Belief PredictionOf(const cost::GraphCost& original, const cost::GraphCost& candidate) {
  if (!HaveSameEstimates(original, candidate)) return {};
  return BeliefFromPrediction(original.total_us, candidate.total_us);
}

// A runtime that optimizes files by itself may do without the work that a candidate saves. So what
// its own kernels were measured to gain must be a part of the evidence there.
bool SavesWork(const MeasureContext& context, const cost::GraphCost& candidate) {
  if (!DoesSubsetOfWork(context.cost, candidate)) return false;
  constexpr double kLeastInFiles = 0.01;
  return !context.backend.runs_files() ||
         candidate.total_us < context.cost.total_us * (1 - kLeastInFiles);
}

Judgement JudgeContender(const MeasureContext& context, const Contender& contender,
                         double confidence) {
  const cost::GraphCost& cost = contender.candidate.packaged.cost;
  return Judge({.ratio = contender.ratio,
                .confidence = confidence,
                .prediction = PredictionOf(context.cost, cost),
                .does_subset_of_work = SavesWork(context, cost)});
}

report::PercentRange GainOf(const timing::Interval& ratio) {
  return {100 * (1 - ratio.high), 100 * (1 - ratio.low)};
}

double PredictedGain(const cost::GraphCost& original, const cost::GraphCost& candidate) {
  return original.total_us > 0 ? 100 * (1 - candidate.total_us / original.total_us) : 0;
}

report::Considered Consider(const MeasureContext& context, const Contender& contender,
                            const Judgement& judgement) {
  const Packaged& packaged = contender.candidate.packaged;
  return {.left_out = packaged.left_out,
          .grounds = judgement.grounds,
          .predicted_percent = HaveSameEstimates(context.cost, packaged.cost)
                                   ? std::optional(PredictedGain(context.cost, packaged.cost))
                                   : std::nullopt,
          .measured_percent = GainOf(contender.ratio.interval),
          .expected_percent = 100 * (1 - std::exp(judgement.belief.mean)),
          .probability = judgement.probability,
          .found = packaged.found};
}

// Judges the contenders, those with the lowest predicted cost first, and takes one of them.
Decision Decide(const MeasureContext& context, Contest contest, double confidence) {
  Decision decision{.original = ToMeasured(contest.original, contest.original_error_norm),
                    .disturbed = contest.contaminated};
  std::ranges::stable_sort(contest.contenders, {}, [](const Contender& contender) {
    return contender.candidate.packaged.cost.total_us;
  });
  std::optional<size_t> taken;
  Belief best;
  for (size_t i = 0; i < contest.contenders.size(); ++i) {
    const Contender& contender = contest.contenders[i];
    const Judgement judgement = JudgeContender(context, contender, confidence);
    decision.considered.push_back(Consider(context, contender, judgement));
    if (!decision.foremost.has_value()) decision.foremost = contender.candidate.packaged.found;
    Log().info(
        "candidate {}: ratio {:.4f} [{:.4f}, {:.4f}] of {} pairs, predicted gain {:.1f} %: {}", i,
        contender.ratio.value, contender.ratio.interval.low, contender.ratio.interval.high,
        contender.ratio.pairs, PredictedGain(context.cost, contender.candidate.packaged.cost),
        std::string(report::GroundsName(judgement.grounds)));
    if (!judgement.takes()) continue;
    if (taken.has_value() && !IsSurelyBelow(judgement.belief, best)) continue;
    taken = i;
    best = judgement.belief;
  }
  if (!taken.has_value()) return decision;
  decision.considered[*taken].taken = true;
  Contender& winner = contest.contenders[*taken];
  decision.winner = {std::move(winner.candidate), ToMeasured(winner.runs, winner.error_norm),
                     GainOf(winner.ratio.interval)};
  return decision;
}

}  // namespace

size_t MostChallengers(const cost::GraphCost& original, double seconds) {
  constexpr double kSlowUs = 50'000;
  if (original.total_us <= kSlowUs) return std::numeric_limits<size_t>::max();
  return 3 * kRunsOfRace * original.total_us * 1e-6 > seconds ? 1 : 2;
}

absl::StatusOr<Decision> DecideByRunning(const MeasureContext& context,
                                         std::vector<Verified> candidates,
                                         const StopCondition& stop,
                                         std::vector<std::string>* failures) {
  // Where the time is only enough for a few runs, some more of them would not settle the question
  // either. Judge then relies more on predictions.
  constexpr int kFewestTurns = 3;
  const timing::EndToEndOptions measuring{.budget_seconds = context.options.seconds,
                                          .min_turns = kFewestTurns,
                                          .least_gain = kLeastGain};
  absl::StatusOr<Contest> contest;
  context.lane.RunUrgent(
      [&] { contest = RunAll(context, std::move(candidates), measuring, stop, failures); });
  QUOTIENT_RETURN_IF_ERROR(contest.status());
  return Decide(context, *std::move(contest), measuring.confidence);
}

bool GainsByModel(const cost::GraphCost& original, const cost::GraphCost& candidate) {
  return candidate.total_us < original.total_us * (1 - kLeastGain) && Runs(candidate);
}

Decision DecideByModel(const cost::GraphCost& original, std::vector<Verified> candidates) {
  for (const bool by_estimates : {false, true}) {
    Verified* cheapest = nullptr;
    for (Verified& candidate : candidates) {
      const cost::GraphCost& cost = candidate.packaged.cost;
      if (!GainsByModel(original, cost)) continue;
      if (cheapest != nullptr && cost.total_us >= cheapest->packaged.cost.total_us) continue;
      if (HaveSameEstimates(original, cost) == by_estimates) continue;
      cheapest = &candidate;
    }
    if (cheapest == nullptr) continue;
    const double gain = PredictedGain(original, cheapest->packaged.cost);
    const std::optional<size_t> found = cheapest->packaged.found;
    return {.winner = Winner{.candidate = std::move(*cheapest)},
            .considered = {{.grounds = report::Grounds::kPredicted,
                            .predicted_percent = gain,
                            .expected_percent = gain,
                            .taken = true,
                            .found = found}},
            .by_estimates = by_estimates};
  }
  return {};
}

}  // namespace quotient::optimize
