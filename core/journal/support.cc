#include "core/journal/support.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/egraph/placed_match.h"
#include "core/egraph/ranges.h"
#include "core/journal/hand_matches.h"

namespace quotient::journal {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::Match;
using egraph::Rule;

using Classes = absl::flat_hash_set<ClassId>;
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

// How many of the e-node's children are in these classes.
std::ptrdiff_t NumRead(ENodeId enode, const EGraph& graph, const Classes& classes) {
  return std::ranges::count_if(graph.node(enode).children,
                               [&](ClassId child) { return classes.contains(graph.Find(child)); });
}

// Of the e-nodes of a class the one that is most likely to be a part of a match with these classes:
// the one that reads most of them, itself or by one step more. The oldest of several; invalid if
// none reads `least` of them itself.
ENodeId Likely(ClassId cls, const EGraph& graph, const Classes& classes, std::ptrdiff_t least,
               bool looks_further) {
  // Classes may have hundreds of e-nodes.
  constexpr int kMostENodes = 32;
  ENodeId likely;
  std::ptrdiff_t most = -1;
  int left = kMostENodes;
  for (const ENodeId enode : graph.nodes(cls)) {
    if (--left < 0) break;
    std::ptrdiff_t read = NumRead(enode, graph, classes);
    if (read < least) continue;
    if (looks_further) {
      for (const ClassId child : graph.node(enode).children) {
        const ClassId id = graph.Find(child);
        if (classes.contains(id)) continue;
        const ENodeId next = Likely(id, graph, classes, 1, /*looks_further=*/false);
        if (next.valid()) read += NumRead(next, graph, classes);
      }
    }
    if (read < most || (read == most && likely < enode)) continue;
    likely = enode;
    most = read;
  }
  return likely;
}

}  // namespace

Support::Support(const Rule& rule, const Match& match, const domain::TensorEGraph& tensors,
                 const ENodeTable& enodes)
    : graph_(tensors.egraph.get()), enodes_(&enodes) {
  matches_ = rule.programs().empty() ? TakeAnchor(rule, match) : TakePattern(rule, match);
  if (!matches_ || rule.programs().empty()) TakeLikely(match);
  TakeConstants(match, *tensors.domain);
  for (const ClassId cls : match.classes) {
    std::vector<ENodeId>& known = of_class_[graph_->Find(cls)];
    if (known.empty() || !matches_) known.emplace_back(cls.value());
  }
  equalities_ = EqualitiesOf(of_class_);
}

bool Support::TakePattern(const Rule& rule, const Match& match) {
  const std::vector<const egraph::Program*> programs = rule.programs();
  if (match.alternative >= programs.size()) return false;
  for (const egraph::PlacedMatch& at :
       egraph::FindMatchesAt(*programs[match.alternative], *graph_, match.classes)) {
    if (at.match.ops != match.ops) continue;
    for (const ENodeId enode : at.enodes) Take(enode);
    return true;
  }
  return false;
}

bool Support::TakeAnchor(const Rule& rule, const Match& match) {
  const ENodeId anchor = FindAnchor(rule, *graph_, match);
  if (anchor.valid()) Take(anchor);
  return anchor.valid();
}

// Takes an e-node of each class of the match and of those that are known already, and of the
// classes that these read.
void Support::TakeLikely(const Match& match) {
  Classes classes;
  for (const ClassId cls : match.classes) classes.insert(graph_->Find(cls));
  for (const auto& [cls, enodes] : of_class_) classes.insert(cls);
  Classes next;
  for (const ClassId cls : classes) {
    const ENodeId likely = Likely(cls, *graph_, classes, 0, /*looks_further=*/true);
    if (!likely.valid()) continue;
    Take(likely);
    for (const ClassId child : graph_->node(likely).children) next.insert(graph_->Find(child));
  }
  for (const ClassId cls : next) {
    if (classes.contains(cls)) continue;
    const ENodeId likely = Likely(cls, *graph_, classes, 1, /*looks_further=*/false);
    if (likely.valid()) Take(likely);
  }
}

// Guards read the values of constants, whatever e-node of the class was found.
void Support::TakeConstants(const Match& match, const domain::TensorDomain& domain) {
  for (const ClassId id : match.classes) {
    const ClassId cls = graph_->Find(id);
    if (!domain.data(*graph_, cls).constant.has_value()) continue;
    for (const ENodeId enode : graph_->nodes(cls)) {
      if (domain.word(graph_->node(enode).op).sort == domain::OpWord::Sort::kConstant) Take(enode);
    }
  }
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
