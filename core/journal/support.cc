#include "core/journal/support.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"

#include "core/egraph/placed_match.h"
#include "core/egraph/ranges.h"

namespace quotient::journal {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::Match;
using egraph::Rule;

using ENodesOfClasses = absl::flat_hash_map<ClassId, std::vector<ENodeId>>;

void SortAndThin(std::vector<ENodeId>& enodes) {
  std::ranges::sort(enodes);
  enodes.erase(std::ranges::unique(enodes).begin(), enodes.end());
}

// Each class's e-nodes with the first of them. Ordered.
std::vector<Equality> EqualitiesOf(const ENodesOfClasses& of_class) {
  std::vector<Equality> equalities;
  for (const auto& [cls, enodes] : of_class) {
    std::vector<ENodeId> sorted = enodes;
    SortAndThin(sorted);
    for (const ENodeId enode : sorted) equalities.emplace_back(sorted.front(), enode);
  }
  std::ranges::sort(equalities);
  return equalities;
}

void TakeWithChildren(ENodeId enode, const EGraph& graph, const ENodeTable& table,
                      ENodesOfClasses& of_class) {
  of_class[graph.class_of(enode)].push_back(enode);
  for (const ENodeId child : table.ChildrenOf(enode)) {
    of_class[graph.class_of(child)].push_back(child);
  }
}

}  // namespace

Support::Support(const Rule& rule, const Match& match, const EGraph& graph,
                 const ENodeTable& enodes, Reach reach)
    : graph_(&graph), enodes_(&enodes) {
  TakePattern(rule, match);
  if (of_class_.empty()) TakeLikely(match);
  if (reach >= Reach::kClasses) TakeClasses(match.classes);
  if (reach >= Reach::kAround) TakeAround(match);
  // Whatever else the match names.
  for (const ClassId cls : match.classes) {
    std::vector<ENodeId>& known = of_class_[graph_->Find(cls)];
    if (known.empty()) known.emplace_back(cls.value());
  }
  equalities_ = EqualitiesOf(of_class_);
}

void Support::Renew() {
  ENodesOfClasses of_class;
  for (const auto& [cls, enodes] : of_class_) {
    std::vector<ENodeId>& all = of_class[graph_->Find(cls)];
    all.insert(all.end(), enodes.begin(), enodes.end());
  }
  of_class_ = std::move(of_class);
}

void Support::TakePattern(const Rule& rule, const Match& match) {
  const std::vector<const egraph::Program*> programs = rule.programs();
  if (match.alternative >= programs.size()) return;
  for (const egraph::PlacedMatch& at :
       egraph::FindMatchesAt(*programs[match.alternative], *graph_, match.classes)) {
    if (at.match.ops != match.ops) continue;
    for (const ENodeId enode : at.enodes) Take(enode);
    return;
  }
}

void Support::TakeLikely(const Match& match) {
  absl::flat_hash_set<ClassId> classes;
  for (const ClassId cls : match.classes) classes.insert(graph_->Find(cls));
  const auto likelihood = [&](ENodeId enode) {
    const auto children = graph_->node(enode).children;
    const auto read = std::ranges::count_if(
        children, [&](ClassId child) { return classes.contains(graph_->Find(child)); });
    return std::pair(read, -static_cast<int64_t>(enode.value()));
  };
  for (const ClassId cls : classes) {
    ENodeId likely;
    for (const ENodeId enode : graph_->nodes(cls)) {
      if (!likely.valid() || likelihood(enode) > likelihood(likely)) likely = enode;
    }
    if (likely.valid()) Take(likely);
  }
}

void Support::TakeClasses(std::span<const ClassId> classes) {
  for (const ClassId cls : classes) {
    for (const ENodeId enode : graph_->nodes(graph_->Find(cls))) Take(enode);
  }
}

void Support::TakeAround(const Match& match) {
  std::vector<ClassId> read;
  for (const ClassId cls : match.classes) {
    for (const ENodeId enode : graph_->nodes(graph_->Find(cls))) {
      const auto children = graph_->node(enode).children;
      read.insert(read.end(), children.begin(), children.end());
    }
    for (const ENodeId enode : graph_->parents(graph_->Find(cls))) Take(enode);
  }
  TakeClasses(read);
}

void Support::Take(ENodeId enode) { TakeWithChildren(enode, *graph_, *enodes_, of_class_); }

ENodeId Support::Standing(ClassId canonical) const {
  const auto known = of_class_.find(canonical);
  if (known == of_class_.end()) return ENodeId(canonical.value());
  return *std::ranges::min_element(known->second);
}

std::vector<Equality> EqualitiesAmong(std::span<const ENodeId> enodes, const EGraph& graph,
                                      const ENodeTable& table) {
  ENodesOfClasses of_class;
  for (const ENodeId enode : enodes) TakeWithChildren(enode, graph, table, of_class);
  return EqualitiesOf(of_class);
}

}  // namespace quotient::journal
