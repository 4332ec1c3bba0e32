#include "core/optimize/candidates.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/eval/fold.h"
#include "core/eval/fold_cache.h"
#include "core/extract/extract.h"
#include "core/extract/fusions.h"
#include "core/extract/remembered.h"
#include "core/extract/several.h"
#include "core/optimize/undo.h"
#include "core/pricing/enode_costs.h"
#include "core/pricing/tensor_workspace.h"
#include "core/search/strategy.h"

namespace quotient::optimize {
namespace {

using egraph::ENodeId;

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
// The last extractions may take what is left of the search's time and this share of all of it,
// within bounds. Work that is linear in the graph (checking a selection, building the graph) is not
// bounded.
constexpr double kGraceShare = 0.25;
constexpr double kLeastLastSeconds = 1;
constexpr double kMostLastSeconds = 5;

// Selects the original's e-nodes. The oldest e-node of a class came with the original if any did,
// and its children are older.
extract::Selection OriginalSelection(const egraph::EGraph& graph) {
  extract::Selection original;
  original.choice.resize(graph.class_bound());
  for (uint32_t i = 0; i < graph.enode_bound(); ++i) {
    if (!graph.live(ENodeId(i))) continue;
    ENodeId& choice = original.choice[graph.class_of(ENodeId(i)).value()];
    if (!choice.valid()) choice = ENodeId(i);
  }
  return original;
}

int64_t ConstantBytes(const model::Graph& graph) {
  int64_t bytes = 0;
  for (const model::Value& value : graph.values) {
    if (value.constant.has_value()) bytes += static_cast<int64_t>(value.constant->bytes().size());
  }
  return bytes;
}

class Searcher final : public Variants {
 public:
  Searcher(const Options& options, const SearchSettings& settings, cost::CostModel& model,
           const StopCondition& stop, const SearchHook& hook)
      : options_(options), settings_(settings), model_(model), stop_(stop), hook_(hook) {}

  // Must be called once, before anything else.
  absl::StatusOr<Candidates> Run(const model::Graph& graph, const model::Graph& measured) {
    folds_ = eval::FoldCache(ConstantBytes(graph));
    const pricing::TensorWorkspace::Settings settings = {
        .max_opset = settings_.max_opset,
        .families = settings_.families,
        .disabled_rules = options_.disabled_rules,
        .assume_finite_inputs = options_.assume_finite_inputs,
        .constant_footprint_log2 = settings_.constant_footprint_log2,
        .extractor = strategy_.extractor(),
    };
    const auto make = [&] {
      return pricing::TensorWorkspace::Make(graph, measured, settings, &prices_);
    };
    QUOTIENT_ASSIGN_OR_RETURN(workspace_, make());
    QUOTIENT_RETURN_IF_ERROR(Grow(make));
    Report();
    if (stop_.cancelled()) return MakeError(Reason::kCancelled, "the job was cancelled");
    QUOTIENT_RETURN_IF_ERROR(Choose());
    result_.figures.seconds = SecondsSpent();
    return std::move(result_);
  }

  std::vector<RewriteFamily> FamiliesOf(size_t candidate) override {
    const extract::Problem problem = ProblemOfVariants();
    const extract::Selection& chosen = selections_[candidate];
    const double cost = extract::SelectionCost(problem, chosen);
    struct Family {
      Undoable undoable;
      double saving_us;
    };
    std::vector<Family> families;
    for (Undoable& each :
         FindUndoable(tensors(), workspace_->rules(), chosen, OriginalSelection(problem.graph))) {
      const absl::StatusOr<double> without =
          extract::CheckSelection(problem, SelectionWithout(problem, candidate, each.classes));
      if (without.ok()) families.push_back({std::move(each), *without - cost});
    }
    std::ranges::stable_sort(families, std::greater(), &Family::saving_us);
    families_.clear();
    families_of_ = candidate;
    std::vector<RewriteFamily> told;
    for (Family& family : families) {
      told.push_back({family.undoable.name, family.saving_us});
      families_.push_back(std::move(family.undoable));
    }
    return told;
  }

  absl::StatusOr<std::optional<Candidate>> Without(size_t candidate,
                                                   std::span<const size_t> families) override {
    if (families_of_ != candidate) FamiliesOf(candidate);
    std::vector<std::string> names;
    std::vector<egraph::ClassId> classes;
    for (const size_t family : families) {
      const Undoable& undoable = families_[family];
      names.push_back(undoable.name);
      classes.insert(classes.end(), undoable.classes.begin(), undoable.classes.end());
    }
    const extract::Problem problem = ProblemOfVariants();
    const extract::Selection selection = SelectionWithout(problem, candidate, classes);
    // Leaving each of them out makes no cycle, but leaving them out together may.
    if (!extract::CheckSelection(problem, selection).ok()) return std::nullopt;
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Candidate> variant, MakeCandidate(problem, selection));
    if (variant.has_value()) variant->left_out = std::move(names);
    return variant;
  }

 private:
  domain::TensorEGraph& tensors() const { return workspace_->tensors(); }
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
    task.stop = stop_.WithBudget(clock_, settings_.time.grow_seconds);
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
    result_.figures.stop_reason = std::string(StopReasonName(outcome.reason));
    result_.figures.simulations = outcome.simulations;
    result_.figures.states = outcome.states;
    result_.figures.resumed = {outcome.resumed.times, outcome.resumed.simulations,
                               outcome.resumed.seconds};
    for (const search::Improvement& step : outcome.improvements) {
      result_.figures.best_costs.push_back({step.seconds, step.simulations, step.cost});
    }
    for (size_t i = 0; i < outcome.applied_by_rule.size(); ++i) {
      const int64_t count = outcome.applied_by_rule[i];
      if (count > 0) result_.figures.applied[workspace_->rules()[i]->name()] = count;
    }
    return absl::OkStatus();
  }

  // Extracts a graph by the costs that are known, measures its kernels and repeats that until all
  // kernels of the extracted graph are measured.
  absl::Status Choose() {
    pricing::ENodeCosts& costs = workspace_->costs();
    costs.Refresh();
    const std::vector<egraph::ClassId> roots = tensors().CanonicalRoots();
    const extract::Problem problem{workspace_->graph(), costs, roots};
    const double left = settings_.time.seconds - SecondsSpent();
    const StopCondition stop = stop_.WithBudget(clock_, std::max(0.0, left));
    if (model_.measures()) {
      const auto best = [this](const extract::Problem& of, const StopCondition& until) {
        return ChooseBest(of, until);
      };
      costs.Request(OriginalENodes());
      QUOTIENT_RETURN_IF_ERROR(Settle(problem, ChooseQuickly, costs, stop));
      QUOTIENT_RETURN_IF_ERROR(Settle(problem, best, costs, stop));
      result_.figures.kernels_measured = prices_.num_requested();
    }
    if (model_.knows_measurements()) costs.SetBasis(pricing::CostBasis::kMeasuredOnly);
    // The last extractions run even if time is up. They are quick, and an answer that is slightly
    // late is better than none. Only a job that was cancelled needs no answer.
    const StopCondition last = stop_.WithoutDeadline().WithBudget(clock_, SecondsForLastChoices());
    QUOTIENT_RETURN_IF_ERROR(AddCandidate(problem, ChooseBest(problem, last)));
    if (model_.measures() && !result_.found.empty()) {
      QUOTIENT_RETURN_IF_ERROR(AddAlternatives(problem, costs, last));
    }
    const extract::Extractor& tree = *extract::FindExtractor("tree");
    QUOTIENT_RETURN_IF_ERROR(AddCandidate(problem, tree.Extract(problem, last)));
    if (!model_.knows_measurements()) return absl::OkStatus();
    if (!model_.measures()) {
      // This candidate needs kernels that were not recorded. It is used if nothing better is found.
      costs.SetBasis(pricing::CostBasis::kKnown);
      return AddCandidate(problem, ChooseBest(problem, last));
    }
    // On a busy machine the times of kernels may be wrong by more than any rewrite gains. So the
    // graph that the prior alone would choose is a candidate, too.
    costs.SetBasis(pricing::CostBasis::kPrior);
    return AddCandidate(problem, ChooseQuickly(problem, last));
  }

  double SecondsForLastChoices() const {
    const double left = std::max(0.0, settings_.time.seconds - SecondsSpent());
    return std::clamp(left + kGraceShare * settings_.time.seconds, kLeastLastSeconds,
                      kMostLastSeconds);
  }

  // Extracts a graph, requests measurements of its kernels that are not known, and repeats that
  // until all are known.
  template <typename Choose>
  absl::Status Settle(const extract::Problem& problem, const Choose& choose,
                      pricing::ENodeCosts& costs, const StopCondition& stop) {
    for (int round = 0; round < kMostRounds && !stop.ShouldStop(); ++round) {
      QUOTIENT_ASSIGN_OR_RETURN(const extract::Selection selection, choose(problem, stop));
      Report();
      const int fresh = costs.Request(Chosen(selection));
      if (stop.ShouldStop()) break;
      model_.Wait(stop);
      costs.Update();
      if (fresh == 0 && round > 0) break;
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<extract::Selection> ChooseQuickly(const extract::Problem& problem,
                                                          const StopCondition& stop) {
    return extract::FindExtractor("dag")->Extract(problem, stop);
  }

  // The selection for a candidate. It is not made again while costs stay as they are.
  absl::StatusOr<extract::Selection> ChooseBest(const extract::Problem& problem,
                                                const StopCondition& stop) {
    return best_.Get(problem, stop, [&] { return ChooseBestAnew(problem, stop); });
  }

  // Returns the quick selection if the exact one is not cheaper, because the quick one does not
  // depend on how fast the machine is.
  absl::StatusOr<extract::Selection> ChooseBestAnew(const extract::Problem& problem,
                                                    const StopCondition& stop) const {
    QUOTIENT_ASSIGN_OR_RETURN(extract::Selection quick, ChooseQuickly(problem, stop));
    const StopCondition share = stop.WithBudget(clock_, kExactSeconds);
    QUOTIENT_ASSIGN_OR_RETURN(extract::Selection exact,
                              extract::FindExtractor("exact")->Extract(problem, share));
    constexpr double kTolerance = 1e-9;
    return exact.cost < quick.cost * (1 - kTolerance) ? std::move(exact) : std::move(quick);
  }

  // Adds the best graphs among those whose kernels differ from those of the best one.
  absl::Status AddAlternatives(const extract::Problem& problem, const pricing::ENodeCosts& costs,
                               const StopCondition& last) {
    const auto wanted = static_cast<size_t>(settings_.alternatives);
    const double best = result_.found.front().cost_us;
    const double gain =
        extract::SelectionCost(problem, OriginalSelection(problem.graph)) / best - 1;
    const double within = std::min(kAlternativesWithin, (1 - kAlternativesGain) * gain);
    if (wanted <= 1 || !(within > 0)) return absl::OkStatus();
    const extract::SeveralOptions several = {
        .count = wanted,
        .within = within,
        .kind =
            [&costs](const extract::Selection& selection) {
              return costs.KernelsDigest(Chosen(selection));
            },
    };
    const extract::Extractor& extractor = *extract::FindExtractor("dag");
    const StopCondition stop = last.WithBudget(clock_, kAlternativesSeconds);
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<extract::Selection> selections,
                              extract::ExtractSeveral(problem, extractor, several, stop));
    for (const extract::Selection& selection : selections) {
      QUOTIENT_RETURN_IF_ERROR(AddCandidate(problem, selection));
    }
    return absl::OkStatus();
  }

  absl::Status AddCandidate(const extract::Problem& problem,
                            const absl::StatusOr<extract::Selection>& chosen) {
    QUOTIENT_RETURN_IF_ERROR(chosen.status());
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Candidate> candidate, MakeCandidate(problem, *chosen));
    if (!candidate.has_value()) return absl::OkStatus();
    result_.found.push_back(*std::move(candidate));
    selections_.push_back(*chosen);
    return absl::OkStatus();
  }

  // Nullopt if the graph is the original, or was made before.
  absl::StatusOr<std::optional<Candidate>> MakeCandidate(const extract::Problem& problem,
                                                         const extract::Selection& selection) {
    QUOTIENT_ASSIGN_OR_RETURN(const double cost, extract::CheckSelection(problem, selection));
    const std::vector<domain::Rewrite> rewrites = domain::RewritesOf(tensors(), selection.choice);
    Candidate candidate;
    candidate.cost_us = cost;
    const std::vector<domain::Split> splits = workspace_->costs().SplitsAmong(Chosen(selection));
    domain::EqualNames names;
    QUOTIENT_ASSIGN_OR_RETURN(
        candidate.graph,
        domain::ToGraph(tensors(), selection.choice, workspace_->rules(), splits, &names));
    // Without a rewrite the graph can differ only in that equal nodes were merged.
    if (rewrites.empty() && candidate.graph.nodes.size() >= NodesOfOriginal()) {
      return std::nullopt;
    }
    // Folding may make other graphs equal, and takes long.
    if (!unfolded_.insert(model::GraphDigest(candidate.graph)).second) return std::nullopt;
    QUOTIENT_RETURN_IF_ERROR(eval::FoldConstants(candidate.graph,
                                                 {.threads = settings_.threads, .cache = &folds_},
                                                 stop_.WithoutDeadline()));
    if (!digests_.insert(model::GraphDigest(candidate.graph)).second) return std::nullopt;
    for (const domain::Rewrite& rewrite : rewrites) {
      candidate.journal.push_back(EntryOf(rewrite, names));
    }
    candidate.names = std::move(names.shared);
    return candidate;
  }

  report::JournalEntry EntryOf(const domain::Rewrite& rewrite,
                               const domain::EqualNames& names) const {
    report::JournalEntry entry = {.rule = workspace_->rules()[rewrite.origin - 1]->name(),
                                  .site = rewrite.site,
                                  .before = rewrite.before,
                                  .after = rewrite.after};
    for (const egraph::Origin step : rewrite.steps) {
      entry.steps.push_back(workspace_->rules()[step - 1]->name());
    }
    for (const egraph::ClassId cls : rewrite.classes) {
      const std::string& name = names.of_class[cls.value()];
      if (!name.empty()) entry.values.push_back(name);
    }
    return entry;
  }

  std::vector<ENodeId> OriginalENodes() const {
    std::vector<ENodeId> nodes;
    for (uint32_t i = 0; i < tensors().original_of_enode.size(); ++i) {
      if (tensors().original_of_enode[i].node.valid()) nodes.emplace_back(i);
    }
    return nodes;
  }

  // Variants are compared by all that is known of kernels.
  extract::Problem ProblemOfVariants() {
    if (families_of_ == kNoCandidate) workspace_->costs().SetBasis(pricing::CostBasis::kKnown);
    roots_ = tensors().CanonicalRoots();
    return {workspace_->graph(), workspace_->costs(), roots_};
  }

  extract::Selection SelectionWithout(const extract::Problem& problem, size_t candidate,
                                      std::span<const egraph::ClassId> classes) const {
    return Undo(problem.graph, problem.roots, selections_[candidate],
                OriginalSelection(problem.graph), classes);
  }

  // The share stays as it was when growing ended, because the report has that one.
  void Report() const {
    hook_({.seconds = SecondsSpent(),
           .enodes = workspace_->graph().num_enodes(),
           .best_share = best_share_});
  }

  size_t NodesOfOriginal() const {
    const std::vector<bool> live = model::LiveNodes(tensors().original);
    return std::count(live.begin(), live.end(), true);
  }

  static std::vector<ENodeId> Chosen(const extract::Selection& selection) {
    std::vector<ENodeId> nodes;
    for (ENodeId node : selection.choice) {
      if (node.valid()) nodes.push_back(node);
    }
    return nodes;
  }

  static constexpr size_t kNoCandidate = static_cast<size_t>(-1);

  const Options options_;
  const search::Strategy& strategy_ = *search::FindStrategy(options_.strategy);
  const SearchSettings settings_;
  cost::CostModel& model_;
  const StopCondition stop_;
  const SearchHook hook_;
  const Clock& clock_ = settings_.clock;
  int64_t start_ns_ = clock_.NowNs();  // If resumed, as if it had never been interrupted.
  double best_share_ = 0;              // SearchProgress::best_share when growing ended.
  pricing::KernelPrices prices_{&model_};
  std::unique_ptr<pricing::TensorWorkspace> workspace_;
  extract::Remembered best_;
  absl::flat_hash_set<Digest> unfolded_;  // Digests of all chosen graphs, before folding.
  absl::flat_hash_set<Digest> digests_;   // Digests of the candidates' graphs, after folding.
  eval::FoldCache folds_{0};  // What folding earlier candidates computed; see Run for its size.
  Candidates result_;

  // --- For variants.
  std::vector<extract::Selection> selections_;  // Parallel to Candidates::found.
  size_t families_of_ = kNoCandidate;           // The candidate that FamiliesOf was last asked for.
  std::vector<Undoable> families_;              // As FamiliesOf returned them.
  std::vector<egraph::ClassId> roots_;
};

}  // namespace

std::vector<std::string> Candidates::AppliedRules() const {
  std::vector<std::string> names;
  for (const auto& [name, matches] : figures.applied) names.push_back(name);
  return names;
}

int MostCandidates(int alternatives) {
  // The exact extractor's, that of "tree", and the one by the prior or by all that is known.
  constexpr int kAlways = 3;
  // The best of the alternatives need not be the exact extractor's.
  return kAlways + (alternatives > 1 ? alternatives : 0);
}

absl::StatusOr<Candidate> Unrewritten(const model::Graph& graph, const model::Graph& measured,
                                      int threads, const StopCondition& stop) {
  QUOTIENT_ASSIGN_OR_RETURN(const domain::TensorEGraph tensors, domain::FromGraph(graph, measured));
  const extract::Selection selection = OriginalSelection(*tensors.egraph);
  Candidate candidate;
  QUOTIENT_ASSIGN_OR_RETURN(
      candidate.graph, domain::ToGraph(tensors, selection.choice, /*rules=*/{}, /*splits=*/{}));
  QUOTIENT_RETURN_IF_ERROR(eval::FoldConstants(candidate.graph, {.threads = threads}, stop));
  return candidate;
}

absl::StatusOr<Candidates> Search(const model::Graph& graph, const model::Graph& measured,
                                  const Options& options, const SearchSettings& settings,
                                  cost::CostModel& costs, const StopCondition& stop,
                                  const SearchHook& hook) {
  auto searcher = std::make_shared<Searcher>(options, settings, costs, stop, hook);
  QUOTIENT_ASSIGN_OR_RETURN(Candidates candidates, searcher->Run(graph, measured));
  if (costs.measures()) candidates.variants = std::move(searcher);
  return candidates;
}

}  // namespace quotient::optimize
