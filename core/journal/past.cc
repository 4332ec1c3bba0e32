#include "core/journal/past.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/status_macros.h"
#include "core/egraph/ranges.h"
#include "core/journal/deriving.h"

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

}  // namespace

absl::StatusOr<std::unique_ptr<Past>> Past::Make(const Selected& selected,
                                                 const model::Graph& measured,
                                                 const ReplaySettings& settings,
                                                 const StopCondition& stop) {
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<ReplayEGraph> replay,
                            ReplayEGraph::Begin(selected.tensors.original, measured, settings));
  std::unique_ptr<Past> past(new Past(selected, std::move(replay)));
  QUOTIENT_RETURN_IF_ERROR(past->Repeat(stop));
  past->IndexChanges();
  return past;
}

Past::Past(const Selected& selected, std::unique_ptr<ReplayEGraph> replay)
    : selected_(selected),
      replay_(std::move(replay)),
      originals_(replay_->graph().enode_bound()),
      of_search_(AsAdded(*selected.tensors.egraph)),
      same_(of_search_, *selected.tensors.domain, replay_->tensors(), originals_) {
  for (size_t i = 0; i < replay_->rules().size(); ++i) {
    rule_by_name_.emplace(replay_->rules()[i]->name(), i);
  }
}

absl::Status Past::Repeat(const StopCondition& stop) {
  NoteENodes(nullptr, Reasons::kNone);
  absl::Status status;
  selected_.tensors.egraph->proofs()->ForEachChange([&](const ProofLog::Change& made) {
    status.Update(CheckTime(stop));
    if (status.ok()) status = RepeatOne(made);
  });
  return status;
}

absl::Status Past::RepeatOne(const ProofLog::Change& made) {
  const auto rule = rule_by_name_.find(selected_.rules[made.origin - 1]->name());
  if (rule == rule_by_name_.end()) return Underivable("a rule is not known");
  const egraph::Rule& of = *replay_->rules()[rule->second];
  QUOTIENT_ASSIGN_OR_RETURN(Match match, same_.FindMatch(of, MatchOf(made)));
  const EGraph& graph = replay_->graph();
  const Support support(of, match, replay_->tensors(), reasons_.enodes());
  if (support.matches()) {
    for (ClassId& cls : match.classes) cls = ClassId(support.Standing(graph.Find(cls)).value());
  }
  const size_t unions_before = graph.proofs()->unions().size();
  QUOTIENT_ASSIGN_OR_RETURN(const bool changed, replay_->Apply(rule->second, match));
  // The search may have added what later turned out to be there already.
  if (!changed) return absl::OkStatus();
  const auto number = static_cast<uint32_t>(rewrites_.size());
  rewrites_.push_back({rule->second, std::move(match), support.matches()});
  NoteENodes(&support, number);
  for (const egraph::UnionRecord& record : graph.proofs()->unions().subspan(unions_before)) {
    changed_.push_back({record.a, number});
    // The reasons derive congruences themselves.
    if (record.origin == egraph::kCongruence) continue;
    reasons_.AddUnion(support.Standing(record.a), support.Standing(record.b), number);
  }
  reasons_.AddRewrite(support.equalities());
  return absl::OkStatus();
}

// Takes in the new e-nodes. `support` is that of the rewrite that made them, or null.
void Past::NoteENodes(const Support* support, uint32_t rewrite) {
  const EGraph& graph = replay_->graph();
  std::vector<ENodeId> children;
  for (uint32_t i = reasons_.enodes().size(); i < graph.enode_bound(); ++i) {
    const egraph::ENodeView node = graph.node(ENodeId(i));
    children.clear();
    for (const ClassId id :
         graph.proofs()->born_children().subspan(children_noted_, node.children.size())) {
      children.push_back(support == nullptr ? ENodeId(id.value()) : support->Standing(id));
    }
    children_noted_ += node.children.size();
    reasons_.AddENode(node.op, children, rewrite);
    if (rewrite != Reasons::kNone) changed_.push_back({ClassId(i), rewrite});
  }
}

void Past::IndexChanges() {
  for (const Changed& changed : changed_) {
    std::vector<uint32_t>& rewrites = changes_of_[replay_->graph().Find(changed.cls)];
    if (rewrites.empty() || rewrites.back() != changed.rewrite) rewrites.push_back(changed.rewrite);
  }
}

void Past::Widen(uint32_t number, Reach reach) {
  std::vector<uint32_t> earlier;
  if (reach == Reach::kAll) {
    earlier.resize(number);
    std::iota(earlier.begin(), earlier.end(), 0u);
  } else {
    for (const ClassId cls : ClassesWithin(rewrites_[number], reach)) {
      const auto changes = changes_of_.find(cls);
      if (changes == changes_of_.end()) continue;
      const auto end = std::ranges::lower_bound(changes->second, number);
      earlier.insert(earlier.end(), changes->second.begin(), end);
    }
  }
  reasons_.SetGround(number, std::move(earlier));
}

std::vector<ClassId> Past::ClassesWithin(const Rewrite& rewrite, Reach reach) const {
  const EGraph& graph = replay_->graph();
  std::vector<ClassId> classes;
  if (reach == Reach::kFound) return classes;
  for (const ClassId id : rewrite.match.classes) {
    const ClassId cls = graph.Find(id);
    classes.push_back(cls);
    if (reach == Reach::kClasses) continue;
    for (const ENodeId enode : graph.nodes(cls)) {
      for (const ClassId child : graph.node(enode).children) classes.push_back(graph.Find(child));
    }
    graph.store().ForEachUse(cls, [&](ENodeId reader, uint32_t /*position*/) {
      classes.push_back(graph.class_of(reader));
    });
  }
  std::ranges::sort(classes);
  classes.erase(std::ranges::unique(classes).begin(), classes.end());
  return classes;
}

}  // namespace quotient::journal
