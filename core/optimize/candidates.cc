#include "core/optimize/candidates.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/eval/fold.h"
#include "core/optimize/choose.h"
#include "core/optimize/grown_egraph.h"
#include "core/optimize/variants.h"
#include "core/pricing/kernel_prices.h"
#include "core/pricing/tensor_workspace.h"
#include "core/search/strategy.h"

namespace quotient::optimize {
namespace {

// A search that is told to finish ends as if its time were up.
std::string WhyEnded(StopReason reason, const StopCondition& stop) {
  const bool is_stopped = reason == StopReason::kDeadline && stop.finishing();
  return is_stopped ? "stopped" : std::string(StopReasonName(reason));
}

class Searcher {
 public:
  Searcher(const Options& options, const SearchSettings& settings, cost::CostModel& model,
           const StopCondition& stop, const SearchHook& hook)
      : options_(options), settings_(settings), model_(model), stop_(stop), hook_(hook) {}

  // Must be called once.
  absl::StatusOr<Candidates> Run(const model::Graph& graph, const model::Graph& measured) {
    const pricing::TensorWorkspace::Settings settings = {
        .max_opset = settings_.max_opset,
        .families = settings_.families,
        .disabled_rules = options_.disabled_rules,
        .assume_finite_inputs = options_.assume_finite_inputs,
        .max_folded_bytes = options_.max_folded_bytes,
        .constant_footprint_log2 = settings_.constant_footprint_log2,
        .operator_us = settings_.operator_us,
        .extractor = strategy_.extractor(),
    };
    const auto make = [&] {
      return pricing::TensorWorkspace::Make(graph, measured, settings, prices_.get());
    };
    QUOTIENT_ASSIGN_OR_RETURN(workspace_, make());
    QUOTIENT_RETURN_IF_ERROR(Grow(make));
    Report();
    if (stop_.cancelled()) return MakeError(Reason::kCancelled, "the job was cancelled");
    QUOTIENT_RETURN_IF_ERROR(Choose());
    return std::move(result_);
  }

 private:
  // Once growing has ended, this includes the time before an interruption.
  double SecondsSpent() const { return clock_.SecondsSince(start_ns_); }

  static double BestShare(const search::Outcome& outcome) {
    const auto& steps = outcome.improvements;
    const bool known = !steps.empty() && steps.front().cost > 0;
    return known ? steps.back().cost / steps.front().cost : 0;
  }

  template <typename Make>
  absl::Status Grow(const Make& make_workspace) {
    search::Task task{.clock = clock_};
    task.limits.max_enodes = options_.max_nodes;
    if (options_.max_simulations > 0) task.limits.max_simulations = options_.max_simulations;
    task.stop =
        settings_.time.has_value() ? stop_.WithBudget(clock_, settings_.time->grow_seconds) : stop_;
    task.hook = [this](const egraph::EGraph& graph, const search::Outcome& so_far) {
      hook_({.seconds = SecondsSpent() + so_far.resumed.seconds,
             .enodes = graph.num_enodes(),
             .best_share = BestShare(so_far)});
    };
    task.seed = options_.seed;
    task.workers = settings_.threads;
    task.make_workspace = make_workspace;
    task.checkpoint = settings_.checkpoint;
    task.context = settings_.checkpoint_context;
    const int64_t start_ns = clock_.NowNs();
    QUOTIENT_ASSIGN_OR_RETURN(const search::Outcome outcome, strategy_.Run(*workspace_, task));
    const double seconds = clock_.SecondsSince(start_ns);
    start_ns_ -= static_cast<int64_t>(outcome.resumed.seconds * 1e9);
    best_share_ = BestShare(outcome);
    result_.figures.grow_seconds = seconds + outcome.resumed.seconds;
    result_.checkpoint_refused = outcome.checkpoint_refused;
    result_.figures.strategy = options_.strategy;
    result_.figures.iterations = outcome.iterations;
    result_.figures.enodes = workspace_->graph().num_enodes();
    result_.figures.eclasses = workspace_->graph().num_classes();
    result_.figures.stop_reason = WhyEnded(outcome.reason, task.stop);
    result_.figures.simulations = outcome.simulations;
    result_.figures.states = outcome.states;
    result_.figures.resumed = {outcome.resumed.times, outcome.resumed.simulations,
                               outcome.resumed.seconds};
    for (const search::Improvement& step : outcome.improvements) {
      result_.figures.best_costs.push_back({step.seconds, step.simulations, step.cost});
    }
    for (size_t i = 0; i < outcome.by_rule.size(); ++i) {
      const search::RuleCounts& counts = outcome.by_rule[i];
      if (counts.matches == 0) continue;
      result_.rules[workspace_->rules()[i]->name()] = {
          .matches = counts.matches, .applied = counts.changed, .enodes = counts.enodes};
    }
    return absl::OkStatus();
  }

  // Gives the e-graph away.
  absl::Status Choose() {
    auto grown = std::make_unique<GrownEGraph>(std::move(prices_), std::move(workspace_),
                                               options_.Folding(settings_.threads), stop_,
                                               settings_.surcharge);
    std::optional<double> seconds;
    if (settings_.time.has_value()) seconds = settings_.time->seconds;
    const ChoiceSettings settings = {.clock = clock_,
                                     .start_ns = start_ns_,
                                     .seconds = seconds,
                                     .alternatives = settings_.alternatives,
                                     .report_progress = [this] { Report(); }};
    QUOTIENT_ASSIGN_OR_RETURN(Choices choices, ChooseCandidates(*grown, model_, settings, stop_));
    result_.figures.kernels_measured = choices.kernels_measured;
    result_.was_cut_short = choices.was_cut_short;
    result_.figures.seconds = SecondsSpent();
    if (settings_.look) settings_.look(*grown, choices.found, result_.figures);
    result_.found = std::move(choices.found);
    if (model_.measures() && settings_.alternatives > 0) {
      result_.variants =
          std::make_shared<Variants>(std::move(grown), std::move(choices.selections));
    }
    return absl::OkStatus();
  }

  // The share stays as it was when growing ended, because the report has that one.
  void Report() const {
    hook_({.seconds = SecondsSpent(), .enodes = result_.figures.enodes, .best_share = best_share_});
  }

  const Options& options_;
  const search::Strategy& strategy_ = *search::FindStrategy(options_.strategy);
  const SearchSettings& settings_;
  cost::CostModel& model_;
  const StopCondition& stop_;
  const SearchHook& hook_;
  const Clock& clock_ = settings_.clock;
  int64_t start_ns_ = clock_.NowNs();  // If resumed, as if it had never been interrupted.
  double best_share_ = 0;              // SearchProgress::best_share when growing ended.
  std::unique_ptr<pricing::KernelPrices> prices_ = std::make_unique<pricing::KernelPrices>(&model_);
  std::unique_ptr<pricing::TensorWorkspace> workspace_;
  Candidates result_;
};

}  // namespace

std::vector<std::string> Candidates::AppliedRules() const {
  std::vector<std::string> names;
  for (const auto& [name, did] : rules) {
    if (did.applied > 0) names.push_back(name);
  }
  return names;
}

int MostCandidates(int alternatives) {
  if (alternatives == 0) return 1;
  // The exact extractor's, that of "tree", and the one by the prior or by all that is known.
  constexpr int kAlways = 3;
  // The best of the alternatives need not be the exact extractor's.
  return kAlways + (alternatives > 1 ? alternatives : 0);
}

absl::StatusOr<Candidate> Unrewritten(const model::Graph& graph, const model::Graph& measured,
                                      const eval::FoldLimits& folding, const StopCondition& stop) {
  QUOTIENT_ASSIGN_OR_RETURN(const domain::TensorEGraph tensors, domain::FromGraph(graph, measured));
  const extract::Selection selection = OriginalSelection(*tensors.egraph);
  Candidate candidate;
  QUOTIENT_ASSIGN_OR_RETURN(candidate.graph,
                            domain::ToGraph(tensors, selection.choice, /*rules=*/{}));
  QUOTIENT_RETURN_IF_ERROR(eval::FoldConstants(candidate.graph, folding, stop));
  return candidate;
}

absl::StatusOr<Candidates> Search(const model::Graph& graph, const model::Graph& measured,
                                  const Options& options, const SearchSettings& settings,
                                  cost::CostModel& costs, const StopCondition& stop,
                                  const SearchHook& hook) {
  return Searcher(options, settings, costs, stop, hook).Run(graph, measured);
}

}  // namespace quotient::optimize
