#include "core/journal/search_history.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/status_macros.h"
#include "core/egraph/ranges.h"
#include "core/journal/derive_error.h"

namespace quotient::journal {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::Match;
using egraph::ProofLog;

Match MatchOf(const ProofLog::Change& made) {
  Match match;
  match.alternative = made.alternative;
  for (const uint32_t id : made.classes) match.classes.emplace_back(id);
  for (const uint32_t op : made.ops) match.ops.emplace_back(op);
  return match;
}

void SortAndThin(std::vector<ClassId>& classes) {
  std::ranges::sort(classes);
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
}

}  // namespace

absl::StatusOr<std::unique_ptr<SearchHistory>> SearchHistory::Make(const Selected& selected,
                                                                   const model::Graph& measured,
                                                                   const ReplaySettings& settings,
                                                                   StepBudget* budget) {
  QUOTIENT_ASSIGN_OR_RETURN(
      std::unique_ptr<ReplayEGraph> replay,
      ReplayEGraph::Begin(selected.tensors.original, measured, settings, budget));
  std::unique_ptr<SearchHistory> history(new SearchHistory(selected, std::move(replay), budget));
  QUOTIENT_RETURN_IF_ERROR(history->RepeatAll());
  history->IndexChanges();
  return history;
}

SearchHistory::SearchHistory(const Selected& selected, std::unique_ptr<ReplayEGraph> replay,
                             StepBudget* budget)
    : selected_(selected),
      budget_(*budget),
      replay_(std::move(replay)),
      originals_(replay_->graph().enode_bound()),
      of_search_(AsAdded(*selected.tensors.egraph)),
      same_(of_search_, *selected.tensors.domain, replay_->tensors(), originals_) {
  for (size_t i = 0; i < replay_->rules().size(); ++i) {
    rule_by_name_.emplace(replay_->rules()[i]->name(), i);
  }
}

absl::StatusOr<ENodeId> SearchHistory::FindLive(ENodeId of_search) {
  absl::StatusOr<ENodeId> live = same_.FindLive(of_search);
  QUOTIENT_RETURN_IF_ERROR(UnderivableIfMissing(live.status()));
  return live;
}

absl::Status SearchHistory::RepeatAll() {
  NoteENodes(nullptr, Reasons::kNone);
  absl::Status status;
  selected_.tensors.egraph->proofs()->ForEachChange([&](const ProofLog::Change& made) {
    if (status.ok()) status = RepeatOne(made);
  });
  return status;
}

absl::Status SearchHistory::RepeatOne(const ProofLog::Change& made) {
  const auto rule = rule_by_name_.find(selected_.rules[made.origin - 1]->name());
  if (rule == rule_by_name_.end()) return Underivable("a rule is not known");
  const egraph::Rule& of = *replay_->rules()[rule->second];
  absl::StatusOr<Match> found = same_.FindMatch(of, MatchOf(made));
  QUOTIENT_RETURN_IF_ERROR(UnderivableIfMissing(found.status()));
  Match match = *std::move(found);
  const EGraph& graph = replay_->graph();
  const Premises premises(of, match, replay_->tensors(), reasons_.enodes(), &budget_);
  QUOTIENT_RETURN_IF_ERROR(budget_.Check());
  if (premises.matches()) {
    for (ClassId& cls : match.classes)
      cls = ClassId(premises.RepresentativeOf(graph.Find(cls)).value());
  }
  const size_t unions_before = graph.proofs()->unions().size();
  QUOTIENT_ASSIGN_OR_RETURN(const bool changed, replay_->Apply(rule->second, match));
  // The search may have made something that was later found to be there already.
  if (!changed) return absl::OkStatus();
  const auto number = static_cast<uint32_t>(rewrites_.size());
  const int64_t looked_at_before = reasons_.operands_looked_at();
  rewrites_.push_back({rule->second, std::move(match), premises.matches()});
  NoteENodes(&premises, number);
  for (const egraph::UnionRecord& record : graph.proofs()->unions().subspan(unions_before)) {
    changed_.push_back({record.a, number});
    // The reasons derive congruences themselves.
    if (record.origin == egraph::kCongruence) continue;
    reasons_.AddUnion(premises.RepresentativeOf(record.a), premises.RepresentativeOf(record.b),
                      number);
  }
  reasons_.AddRewrite(premises.equalities());
  budget_.Take(reasons_.operands_looked_at() - looked_at_before);
  return absl::OkStatus();
}

void SearchHistory::NoteENodes(const Premises* premises, uint32_t rewrite) {
  const EGraph& graph = replay_->graph();
  std::vector<ENodeId> children;
  for (uint32_t i = reasons_.enodes().size(); i < graph.enode_bound(); ++i) {
    const egraph::ENodeView node = graph.node(ENodeId(i));
    children.clear();
    for (const ClassId id :
         graph.proofs()->born_children().subspan(children_noted_, node.children.size())) {
      children.push_back(premises == nullptr ? ENodeId(id.value())
                                             : premises->RepresentativeOf(id));
    }
    children_noted_ += node.children.size();
    reasons_.AddENode(node.op, children, rewrite);
    if (rewrite != Reasons::kNone) changed_.push_back({ClassId(i), rewrite});
  }
}

void SearchHistory::IndexChanges() {
  for (const Changed& changed : changed_) {
    std::vector<uint32_t>& rewrites = changes_of_[replay_->graph().Find(changed.cls)];
    if (rewrites.empty() || rewrites.back() != changed.rewrite) rewrites.push_back(changed.rewrite);
  }
}

void SearchHistory::SetDependence(uint32_t number, Dependence dependence) {
  std::vector<uint32_t> earlier;
  if (dependence == Dependence::kAllEarlier) {
    earlier.resize(number);
    std::iota(earlier.begin(), earlier.end(), 0u);
  } else {
    for (const ClassId cls : ClassesAround(rewrites_[number], dependence)) {
      const auto changes = changes_of_.find(cls);
      if (changes == changes_of_.end()) continue;
      const auto end = std::ranges::lower_bound(changes->second, number);
      earlier.insert(earlier.end(), changes->second.begin(), end);
    }
  }
  budget_.Take(static_cast<int64_t>(earlier.size()));
  reasons_.SetEarlier(number, std::move(earlier));
}

std::vector<ClassId> SearchHistory::ClassesAround(const Rewrite& rewrite,
                                                  Dependence dependence) const {
  const EGraph& graph = replay_->graph();
  std::vector<ClassId> classes;
  if (dependence == Dependence::kPremises) return classes;
  for (const ClassId id : rewrite.match.classes) classes.push_back(graph.Find(id));
  SortAndThin(classes);
  if (dependence == Dependence::kClasses) return classes;
  std::vector<ClassId> around = classes;
  for (const ClassId cls : classes) {
    for (const ENodeId enode : graph.nodes(cls)) {
      for (const ClassId child : graph.node(enode).children) around.push_back(graph.Find(child));
    }
    graph.store().ForEachUse(cls, [&](ENodeId reader, uint32_t /*position*/) {
      around.push_back(graph.class_of(reader));
    });
  }
  budget_.Take(static_cast<int64_t>(around.size()));
  SortAndThin(around);
  return around;
}

}  // namespace quotient::journal
