#include "core/journal/derive.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/domain/selection.h"
#include "core/journal/derive_error.h"
#include "core/journal/needed_rewrites.h"
#include "core/journal/premises.h"
#include "core/journal/search_history.h"

namespace quotient::journal {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;

// Whether two graphs are equal up to the last name.
bool IsSame(const model::Graph& a, const model::Graph& b) {
  const auto same_values = [](const model::Value& x, const model::Value& y) {
    if (x.name != y.name || x.type != y.type) return false;
    if (x.constant.has_value() != y.constant.has_value()) return false;
    return !x.constant.has_value() || x.constant->digest() == y.constant->digest();
  };
  const auto same_nodes = [](const model::Node& x, const model::Node& y) {
    return x.name == y.name && x.op == y.op && x.attributes == y.attributes &&
           x.inputs == y.inputs && x.outputs == y.outputs && x.source == y.source;
  };
  return a.inputs == b.inputs && a.outputs == b.outputs &&
         std::ranges::equal(a.values, b.values, same_values) &&
         std::ranges::equal(a.nodes, b.nodes, same_nodes);
}

class Deriver {
 public:
  Deriver(const Selected& selected, const model::Graph& measured, const ReplaySettings& settings,
          StepBudget* budget)
      : selected_(selected), measured_(measured), settings_(settings), budget_(*budget) {
    settings_.other = selected.tensors.domain.get();
  }

  absl::StatusOr<Derived> Run() {
    QUOTIENT_ASSIGN_OR_RETURN(order_, domain::ChosenClasses(selected_.tensors, selected_.choice));
    QUOTIENT_ASSIGN_OR_RETURN(wanted_, domain::ToGraph(selected_.tensors, selected_.choice,
                                                       selected_.rules, selected_.splits));
    QUOTIENT_ASSIGN_OR_RETURN(history_,
                              SearchHistory::Make(selected_, measured_, settings_, &budget_));
    QUOTIENT_ASSIGN_OR_RETURN(chosen_, Chosen());
    for (int pass = 0; pass < kMostPasses; ++pass) {
      QUOTIENT_ASSIGN_OR_RETURN(std::optional<Derived> derived, TryOnce());
      if (derived.has_value()) return *std::move(derived);
    }
    return MakeError(Reason::kRunBudget,
                     absl::StrCat("not derived in ", kMostPasses, " passes: ", last_failure_));
  }

 private:
  static constexpr int kMostPasses = 40;

  // Nullopt if it is to be tried again with other rewrites.
  absl::StatusOr<std::optional<Derived>> TryOnce() {
    QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<NeededRewrites> needed,
                              NeededRewrites::Begin(*history_, selected_.tensors.original,
                                                    measured_, settings_, &budget_));
    const std::vector<uint32_t> numbers = NeededNumbers();
    QUOTIENT_RETURN_IF_ERROR(budget_.Check());
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<uint32_t> failed, needed->Make(numbers));
    if (failed.empty()) return Finish(*needed);
    QUOTIENT_RETURN_IF_ERROR(AssumeMore(failed));
    return std::nullopt;
  }

  // The rewrites that the chosen e-nodes need. Some may be missing once the budget is over.
  std::vector<uint32_t> NeededNumbers() {
    if (!needs_all_) {
      return history_->reasons().RewritesFor(
          EqualitiesAmong(WithValues(), history_->replay().graph(), history_->reasons().enodes()),
          &budget_);
    }
    std::vector<uint32_t> all(history_->num_rewrites());
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }

  // The chosen e-nodes in the history, in the order of their classes, and then the parts of Splits.
  absl::StatusOr<std::vector<ENodeId>> Chosen() {
    std::vector<ENodeId> chosen;
    for (const ClassId cls : order_) {
      QUOTIENT_ASSIGN_OR_RETURN(chosen.emplace_back(),
                                history_->FindLive(selected_.choice[cls.value()]));
    }
    for (const domain::Split& split : selected_.splits) {
      for (const domain::Split::Part& part : split.parts) {
        QUOTIENT_ASSIGN_OR_RETURN(chosen.emplace_back(), history_->FindLive(part.slice));
      }
    }
    return chosen;
  }

  // The chosen e-nodes, and those of the model that compute the same, because the result has their
  // names.
  std::vector<ENodeId> WithValues() const {
    const EGraph& graph = history_->replay().graph();
    std::vector<ENodeId> all = chosen_;
    std::vector<bool> is_chosen(graph.class_bound());
    for (const ENodeId enode : chosen_) is_chosen[graph.class_of(enode).value()] = true;
    for (const ClassId cls : selected_.tensors.class_of_value) {
      if (cls.valid() && is_chosen[graph.Find(cls).value()]) all.emplace_back(cls.value());
    }
    for (const ClassId root : selected_.tensors.roots) all.emplace_back(root.value());
    return all;
  }

  // Lets rewrites whose rules did not match rest on more. The first of them may be the reason why
  // the others failed, so only the first may come to rest on all earlier ones.
  absl::Status AssumeMore(std::span<const uint32_t> failed) {
    const uint32_t first = failed.front();
    const size_t rule = history_->rewrite(first).rule;
    last_failure_ =
        absl::StrCat("rule ", history_->replay().rules()[rule]->name(), " does not match again");
    if (needs_all_ || dependence_[first] == Dependence::kAllEarlier) {
      // That is a defect, unless the match was not looked for to the end.
      if (!budget_.was_cut()) return Underivable(last_failure_);
      return MakeError(Reason::kRunBudget,
                       absl::StrCat("looking for a match took too long: ", last_failure_));
    }
    for (const uint32_t number : failed) {
      Dependence& dependence = dependence_[number];
      if (number != first && dependence >= Dependence::kNeighbourClasses) continue;
      dependence = static_cast<Dependence>(static_cast<uint8_t>(dependence) + 1);
      history_->SetDependence(number, dependence);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<Derived>> Finish(NeededRewrites& needed) {
    std::vector<ENodeId> enodes;
    for (const ENodeId enode : chosen_) {
      absl::StatusOr<ENodeId> live = needed.FindLive(enode);
      if (!live.ok()) return AllIfNot("a chosen e-node is missing");
      enodes.push_back(*live);
    }
    const std::vector<domain::Split> splits = SplitsIn(enodes);
    const int64_t made = needed.replay().graph().enode_bound();
    QUOTIENT_ASSIGN_OR_RETURN(
        Rewriting rewriting,
        needed.replay().Choose(std::span(enodes).first(order_.size()), splits));
    rewriting.rewrites = needed.TakeRewrites();
    if (made > needed.replay().MostENodes(rewriting.rewrites)) {
      return MakeError(Reason::kLimitNodes,
                       absl::StrCat("its rewrites make ", made, " e-nodes, too many to replay"));
    }
    absl::StatusOr<model::Graph> graph = needed.replay().Finish(rewriting);
    if (!graph.ok()) return AllIfNot(graph.status().message());
    if (!IsSame(*graph, wanted_)) return AllIfNot("another graph results");
    return Derived{std::move(rewriting), *std::move(graph)};
  }

  // The Splits of the parts that follow the chosen e-nodes.
  std::vector<domain::Split> SplitsIn(std::span<const ENodeId> chosen) const {
    std::vector<domain::Split> splits(selected_.splits.begin(), selected_.splits.end());
    size_t next = order_.size();
    for (domain::Split& split : splits) {
      for (domain::Split::Part& part : split.parts) part.slice = chosen[next++];
    }
    return splits;
  }

  // The rewrites that seemed to be needed do not suffice, so the next pass makes all of them. With
  // those it must succeed.
  absl::StatusOr<std::optional<Derived>> AllIfNot(absl::string_view why) {
    if (needs_all_) return Underivable(why);
    needs_all_ = true;
    return std::nullopt;
  }

  const Selected& selected_;
  const model::Graph& measured_;
  ReplaySettings settings_;
  StepBudget& budget_;
  std::vector<ClassId> order_;  // The classes of the choice, in the order of the graph.
  model::Graph wanted_;         // The graph that was chosen.
  std::unique_ptr<SearchHistory> history_;
  std::vector<ENodeId> chosen_;
  // Of the rewrites whose rules did not match in some pass. The others have kPremises.
  absl::flat_hash_map<uint32_t, Dependence> dependence_;
  bool needs_all_ = false;  // Whether all rewrites of the search are made.
  std::string last_failure_;
};

}  // namespace

absl::StatusOr<Derived> Derive(const Selected& selected, const model::Graph& measured,
                               const ReplaySettings& settings, StepBudget* budget) {
  return Deriver(selected, measured, settings, budget).Run();
}

}  // namespace quotient::journal
