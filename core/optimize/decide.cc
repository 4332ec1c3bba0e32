#include "core/optimize/decide.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/base/status_macros.h"
#include "core/optimize/evidence.h"
#include "core/optimize/same_kernels.h"
#include "core/optimize/subset_of_work.h"
#include "core/timing/end_to_end.h"

namespace quotient::optimize {
namespace {

report::Measured ToMeasured(const timing::RunStatistics& runs, std::optional<double> error_norm) {
  return {runs.median_us, runs.p10_us, runs.p90_us, runs.samples, error_norm};
}

bool Runs(const cost::GraphCost& graph) {
  return std::ranges::none_of(graph.costs, &cost::KernelCost::unsupported);
}

// A runtime that optimizes files by itself may do without the work that a candidate saves. So what
// its own kernels were measured to gain must be a part of the evidence there.
bool SavesWork(const MeasureContext& context, const cost::GraphCost& candidate) {
  if (!DoesSubsetOfWork(context.cost, candidate)) return false;
  constexpr double kLeastInFiles = 0.01;
  return !context.backend.runs_files() ||
         candidate.total_us < context.cost.total_us * (1 - kLeastInFiles);
}

Judgement JudgeContender(const MeasureContext& context, const Contender& contender) {
  const cost::GraphCost& cost = contender.candidate.packaged.cost;
  return Judge({.ratio = contender.ratio,
                .cpu_time = contender.cpu_time,
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
          .measured_percent = contender.ratio.pairs > 0
                                  ? std::optional(GainOf(contender.ratio.interval))
                                  : std::nullopt,
          .cpu_time_percent = contender.cpu_time.has_value() && contender.cpu_time->pairs > 0
                                  ? std::optional(GainOf(contender.cpu_time->interval))
                                  : std::nullopt,
          .pairs = contender.decisive().pairs,
          .expected_percent = 100 * (1 - std::exp(judgement.belief.mean)),
          .probability = judgement.probability,
          .found = packaged.found};
}

// Judges the contenders, those with the lowest predicted cost first, and takes one of them.
Decision Decide(const MeasureContext& context, Contest contest) {
  Decision decision{.original = ToMeasured(contest.original, contest.original_error_norm),
                    .disturbed = contest.contaminated};
  decision.original.disturbed = contest.original_tells_no_time;
  std::ranges::stable_sort(contest.contenders, {}, [](const Contender& contender) {
    return contender.candidate.packaged.cost.total_us;
  });
  std::optional<size_t> taken;
  Belief best;
  for (size_t i = 0; i < contest.contenders.size(); ++i) {
    const Contender& contender = contest.contenders[i];
    const Judgement judgement = JudgeContender(context, contender);
    decision.by_cpu_time |= contender.cpu_time.has_value() && contender.cpu_time->pairs > 0;
    decision.considered.push_back(Consider(context, contender, judgement));
    if (!decision.foremost.has_value()) decision.foremost = contender.candidate.packaged.found;
    if (!judgement.takes()) continue;
    if (taken.has_value() && !IsSurelyBelow(judgement.belief, best)) continue;
    taken = i;
    best = judgement.belief;
  }
  if (!taken.has_value()) return decision;
  decision.considered[*taken].taken = true;
  Contender& winner = contest.contenders[*taken];
  decision.winner = {std::move(winner.candidate), ToMeasured(winner.runs, winner.error_norm)};
  if (winner.decisive().pairs > 0) {
    decision.winner->gain = GainOf(winner.decisive().interval);
    decision.winner->gain_percent = 100 * (1 - winner.decisive().value);
  }
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
  absl::StatusOr<Contest> contest;
  context.lane.RunUrgent(
      [&] { contest = RunContest(context, std::move(candidates), stop, failures); });
  QUOTIENT_RETURN_IF_ERROR(contest.status());
  return Decide(context, *std::move(contest));
}

bool GainsByModel(const cost::GraphCost& original, const cost::GraphCost& candidate) {
  constexpr double kLeastPredictedGain = 0.002;
  return candidate.total_us < original.total_us * (1 - kLeastPredictedGain) && Runs(candidate);
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
