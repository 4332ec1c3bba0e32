#include "core/optimize/choose.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/status_macros.h"
#include "core/extract/fusions.h"
#include "core/extract/remembered.h"
#include "core/extract/several.h"
#include "core/optimize/budget.h"

namespace quotient::optimize {
namespace {

// The largest number of rounds of extracting and measuring. The prior is optimistic, so each round
// either measures something new or is the last. In practice there are a few.
constexpr int kMostRounds = 40;
// Alternatives must be predicted to cost at most this share more than the best graph, and to keep
// this share of its gain, because graphs that are hardly faster than the original take the longest
// to measure. Looking for them takes some milliseconds for most models, and at most these seconds.
constexpr double kAlternativesWithin = 0.05;
constexpr double kAlternativesGain = 0.5;
constexpr double kAlternativesSeconds = 2;
// The search uses a quick extractor. The final graph comes from the exact one, which takes
// milliseconds for most models. If it does not end in time, the quick answer is used.
constexpr double kExactSeconds = 2;
constexpr double kUntimedExactSeconds = 10;
// The last extractions may take what is left of the search's time and Budget::kSearchGrace of all
// of it, within bounds. Work that is linear in the graph (checking a selection, building the graph)
// is not bounded.
constexpr double kLeastLastSeconds = 1;
constexpr double kMostLastSeconds = 5;

class Chooser {
 public:
  Chooser(GrownEGraph& grown, cost::CostModel& model, const ChoiceSettings& settings,
          const StopCondition& stop)
      : grown_(grown), model_(model), settings_(settings), stop_(stop) {}

  absl::StatusOr<Choices> Run() {
    costs_.Refresh();
    if (model_.measures()) QUOTIENT_RETURN_IF_ERROR(MeasureBest());
    QUOTIENT_RETURN_IF_ERROR(AddCandidates());
    return std::move(choices_);
  }

 private:
  using Extract = absl::StatusOr<extract::Selection> (Chooser::*)(const StopCondition& stop);

  double SecondsSpent() const { return settings_.clock.SecondsSince(settings_.start_ns); }
  double SecondsLeft() const { return std::max(0.0, *settings_.seconds - SecondsSpent()); }
  bool is_timed() const { return settings_.seconds.has_value(); }

  // Measures the kernels of the original and of the best graphs.
  absl::Status MeasureBest() {
    const StopCondition stop =
        is_timed() ? stop_.WithBudget(settings_.clock, SecondsLeft()) : stop_;
    costs_.Request(grown_.OriginalENodes());
    QUOTIENT_RETURN_IF_ERROR(MeasureUntilKnown(&Chooser::ExtractQuickly, stop));
    QUOTIENT_RETURN_IF_ERROR(MeasureUntilKnown(&Chooser::ExtractBest, stop));
    choices_.kernels_measured = grown_.prices().num_measured();
    return absl::OkStatus();
  }

  // Extracts a graph, requests measurements of its kernels that are not known, and repeats that
  // until all are known.
  absl::Status MeasureUntilKnown(Extract choose, const StopCondition& stop) {
    for (int round = 0; round < kMostRounds && !stop.ShouldStop(); ++round) {
      QUOTIENT_ASSIGN_OR_RETURN(const extract::Selection selection, (this->*choose)(stop));
      settings_.report_progress();
      const int fresh = costs_.Request(ENodesOf(selection));
      if (stop.ShouldStop()) break;
      model_.Wait(stop);
      costs_.Update();
      // What was requested before the first round may have changed costs in it.
      if (fresh == 0 && round > 0) break;
    }
    return absl::OkStatus();
  }

  // The last extractions run even if time is up. They are quick, and an answer that is slightly
  // late is better than none. Only a job that was cancelled needs no answer.
  absl::Status AddCandidates() {
    if (model_.knows_measurements()) costs_.SetBasis(pricing::CostBasis::kMeasuredOnly);
    StopCondition last = stop_.WithoutDeadline();
    if (is_timed()) last = last.WithBudget(settings_.clock, SecondsForLastExtractions());
    QUOTIENT_RETURN_IF_ERROR(AddCandidate(ExtractBest(last)));
    // Building a graph may take seconds, as constants are folded for it. The others are rarely
    // better, and not worth being later for.
    const bool is_enough = last.ShouldStop() || settings_.alternatives == 0;
    if (!choices_.found.empty() && is_enough) return absl::OkStatus();
    if (!is_timed()) return absl::OkStatus();
    if (model_.measures() && !choices_.found.empty()) {
      QUOTIENT_RETURN_IF_ERROR(AddAlternatives(last));
    }
    const extract::Extractor& tree = *extract::FindExtractor("tree");
    QUOTIENT_RETURN_IF_ERROR(AddCandidate(tree.Extract(problem_, last)));
    if (!model_.knows_measurements()) return absl::OkStatus();
    if (!model_.measures()) {
      // This candidate needs kernels that were not recorded. It is used if nothing better is found.
      costs_.SetBasis(pricing::CostBasis::kKnown);
      return AddCandidate(ExtractBest(last));
    }
    // On a busy machine the times of kernels may be wrong by more than any rewrite gains. So the
    // graph that the prior alone would choose is a candidate, too.
    costs_.SetBasis(pricing::CostBasis::kPrior);
    return AddCandidate(ExtractQuickly(last));
  }

  double SecondsForLastExtractions() const {
    return std::clamp(SecondsLeft() + Budget::kSearchGrace * *settings_.seconds, kLeastLastSeconds,
                      kMostLastSeconds);
  }

  // --- Selections. They are cached while costs stay the same.

  absl::StatusOr<extract::Selection> ExtractQuickly(const StopCondition& stop) {
    return quick_.Get(problem_, stop,
                      [&] { return extract::FindExtractor("dag")->Extract(problem_, stop); });
  }

  absl::StatusOr<extract::Selection> ExtractBest(const StopCondition& stop) {
    return best_.Get(problem_, stop, [&] { return ExtractBestUncached(stop); });
  }

  // Returns the quick selection if the exact one is not cheaper, because the quick one does not
  // depend on how fast the machine is. Where time is no bound, neither may an exact one.
  absl::StatusOr<extract::Selection> ExtractBestUncached(const StopCondition& stop) {
    QUOTIENT_ASSIGN_OR_RETURN(extract::Selection quick, ExtractQuickly(stop));
    const StopCondition share =
        stop.WithBudget(settings_.clock, is_timed() ? kExactSeconds : kUntimedExactSeconds);
    QUOTIENT_ASSIGN_OR_RETURN(extract::Selection exact,
                              extract::FindExtractor("exact")->Extract(problem_, share));
    constexpr double kTolerance = 1e-9;
    const bool is_best = exact.lower_bound >= exact.cost * (1 - kTolerance);
    choices_.was_cut_short = !is_timed() && !is_best;
    if (choices_.was_cut_short) return quick;
    return exact.cost < quick.cost * (1 - kTolerance) ? std::move(exact) : std::move(quick);
  }

  // Adds the best graphs among those whose kernels differ from those of the best one.
  absl::Status AddAlternatives(const StopCondition& last) {
    const auto wanted = static_cast<size_t>(settings_.alternatives);
    const double best = choices_.found.front().cost_us;
    const double gain =
        extract::SelectionCost(problem_, OriginalSelection(grown_.graph())) / best - 1;
    const double within = std::min(kAlternativesWithin, (1 - kAlternativesGain) * gain);
    if (wanted <= 1 || !(within > 0)) return absl::OkStatus();
    const extract::SeveralOptions several = {
        .count = wanted,
        .within = within,
        .kind =
            [this](const extract::Selection& selection) {
              return costs_.KernelsDigest(ENodesOf(selection));
            },
    };
    const extract::Extractor& extractor = *extract::FindExtractor("dag");
    const StopCondition stop = last.WithBudget(settings_.clock, kAlternativesSeconds);
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<extract::Selection> selections,
                              extract::ExtractSeveral(problem_, extractor, several, stop));
    for (const extract::Selection& selection : selections) {
      QUOTIENT_RETURN_IF_ERROR(AddCandidate(selection));
    }
    return absl::OkStatus();
  }

  absl::Status AddCandidate(const absl::StatusOr<extract::Selection>& chosen) {
    QUOTIENT_RETURN_IF_ERROR(chosen.status());
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Candidate> candidate, grown_.Make(*chosen));
    if (!candidate.has_value()) return absl::OkStatus();
    candidate->found = choices_.found.size();
    choices_.found.push_back(*std::move(candidate));
    choices_.selections.push_back(*chosen);
    return absl::OkStatus();
  }

  GrownEGraph& grown_;
  cost::CostModel& model_;
  const ChoiceSettings& settings_;
  const StopCondition& stop_;
  pricing::ENodeCosts& costs_ = grown_.costs();
  const extract::Problem problem_ = grown_.problem();
  extract::Remembered quick_;
  extract::Remembered best_;
  Choices choices_;
};

}  // namespace

absl::StatusOr<Choices> ChooseCandidates(GrownEGraph& grown, cost::CostModel& costs,
                                         const ChoiceSettings& settings,
                                         const StopCondition& stop) {
  return Chooser(grown, costs, settings, stop).Run();
}

}  // namespace quotient::optimize
