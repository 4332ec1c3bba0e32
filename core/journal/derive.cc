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
#include "core/base/status_macros.h"
#include "core/domain/selection.h"
#include "core/journal/deriving.h"
#include "core/journal/needed_rewrites.h"
#include "core/journal/past.h"
#include "core/journal/support.h"

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
          const StopCondition& stop)
      : selected_(selected), measured_(measured), settings_(settings), stop_(stop) {
    settings_.other = selected.tensors.domain.get();
  }

  absl::StatusOr<Derived> Run() {
    QUOTIENT_ASSIGN_OR_RETURN(order_, domain::ChosenClasses(selected_.tensors, selected_.choice));
    QUOTIENT_ASSIGN_OR_RETURN(wanted_, domain::ToGraph(selected_.tensors, selected_.choice,
                                                       selected_.rules, selected_.splits));
    QUOTIENT_ASSIGN_OR_RETURN(past_, Past::Make(selected_, measured_, settings_, stop_));
    QUOTIENT_ASSIGN_OR_RETURN(chosen_, Chosen());
    for (int pass = 0; pass < kMostPasses; ++pass) {
      QUOTIENT_ASSIGN_OR_RETURN(std::optional<Derived> derived, Try());
      if (derived.has_value()) return *std::move(derived);
    }
    return Underivable(last_failure_);
  }

 private:
  static constexpr int kMostPasses = 40;

  // Nullopt if it is to be tried again, in another way.
  absl::StatusOr<std::optional<Derived>> Try() {
    QUOTIENT_ASSIGN_OR_RETURN(
        const std::unique_ptr<NeededRewrites> needed,
        NeededRewrites::Begin(*past_, selected_.tensors.original, measured_, settings_));
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<uint32_t> failed,
                              needed->Make(NeededNumbers(), stop_));
    if (failed.empty()) return Finish(*needed);
    QUOTIENT_RETURN_IF_ERROR(Widen(failed));
    return std::nullopt;
  }

  // The rewrites that the chosen e-nodes need.
  std::vector<uint32_t> NeededNumbers() const {
    if (!needs_all_) {
      return past_->reasons().RewritesFor(
          EqualitiesAmong(WithValues(), past_->replay().graph(), past_->reasons().enodes()));
    }
    std::vector<uint32_t> all(past_->num_rewrites());
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }

  // The chosen e-nodes in the past, in the order of their classes, and then the parts of Splits.
  absl::StatusOr<std::vector<ENodeId>> Chosen() {
    std::vector<ENodeId> chosen;
    for (const ClassId cls : order_) {
      QUOTIENT_ASSIGN_OR_RETURN(chosen.emplace_back(),
                                past_->FindLive(selected_.choice[cls.value()]));
    }
    for (const domain::Split& split : selected_.splits) {
      for (const domain::Split::Part& part : split.parts) {
        QUOTIENT_ASSIGN_OR_RETURN(chosen.emplace_back(), past_->FindLive(part.slice));
      }
    }
    return chosen;
  }

  // The chosen e-nodes, and those of the model that compute the same, because the result has their
  // names.
  std::vector<ENodeId> WithValues() const {
    const EGraph& graph = past_->replay().graph();
    std::vector<ENodeId> all = chosen_;
    std::vector<bool> is_chosen(graph.class_bound());
    for (const ENodeId enode : chosen_) is_chosen[graph.class_of(enode).value()] = true;
    for (const ClassId cls : selected_.tensors.class_of_value) {
      if (cls.valid() && is_chosen[graph.Find(cls).value()]) all.emplace_back(cls.value());
    }
    for (const ClassId root : selected_.tensors.roots) all.emplace_back(root.value());
    return all;
  }

  // The first that failed may have made others fail, so that one alone may come to rest on all.
  absl::Status Widen(std::span<const uint32_t> failed) {
    const uint32_t first = failed.front();
    const size_t rule = past_->rewrite(first).rule;
    last_failure_ =
        absl::StrCat("rule ", past_->replay().rules()[rule]->name(), " does not match again");
    if (needs_all_ || reach_[first] == Reach::kAll) return Underivable(last_failure_);
    for (const uint32_t number : failed) {
      Reach& reach = reach_[number];
      if (number != first && reach >= Reach::kAround) continue;
      reach = static_cast<Reach>(static_cast<uint8_t>(reach) + 1);
      past_->Widen(number, reach);
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
    QUOTIENT_ASSIGN_OR_RETURN(
        Rewriting rewriting,
        needed.replay().Choose(std::span(enodes).first(order_.size()), splits));
    rewriting.rewrites = needed.TakeRewrites();
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

  // The rewrites that seem to be needed do not suffice. With all of them it must succeed.
  absl::StatusOr<std::optional<Derived>> AllIfNot(absl::string_view why) {
    if (needs_all_) return Underivable(why);
    needs_all_ = true;
    return std::nullopt;
  }

  const Selected& selected_;
  const model::Graph& measured_;
  ReplaySettings settings_;
  const StopCondition& stop_;
  std::vector<ClassId> order_;  // Of the choice.
  model::Graph wanted_;
  std::unique_ptr<Past> past_;
  std::vector<ENodeId> chosen_;
  absl::flat_hash_map<uint32_t, Reach> reach_;  // Of those that did not match; else kFound.
  bool needs_all_ = false;
  std::string last_failure_;
};

}  // namespace

namespace {

// Finding matches of long lists again takes minutes, during which nothing looks at the time.
constexpr size_t kMostOperands = 100;

absl::Status CheckLists(const EGraph& graph) {
  for (uint32_t i = 0; i < graph.enode_bound(); ++i) {
    const size_t operands = graph.node(ENodeId(i)).children.size();
    if (operands <= kMostOperands) continue;
    return Underivable(absl::StrCat("a node with ", operands, " operands, of at most ",
                                    kMostOperands, " that it may have"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Derived> Derive(const Selected& selected, const model::Graph& measured,
                               const ReplaySettings& settings, const StopCondition& stop) {
  QUOTIENT_RETURN_IF_ERROR(CheckLists(*selected.tensors.egraph));
  return Deriver(selected, measured, settings, stop).Run();
}

}  // namespace quotient::journal
