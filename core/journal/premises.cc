#include "core/journal/premises.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/egraph/placed_match.h"
#include "core/egraph/ranges.h"
#include "core/journal/site_matches.h"

namespace quotient::journal {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::Match;
using egraph::Rule;

using Classes = absl::flat_hash_set<ClassId>;
using ENodesOfClasses = absl::flat_hash_map<ClassId, std::vector<ENodeId>>;

// Sorts the e-nodes of each class, and leaves out repetitions.
void SortAndThin(ENodesOfClasses& of_class) {
  for (auto& [cls, enodes] : of_class) {
    std::ranges::sort(enodes);
    enodes.erase(std::unique(enodes.begin(), enodes.end()), enodes.end());
  }
}

// Each class's e-nodes with the first of them. Ordered. The e-nodes of each class must be sorted.
std::vector<Equality> EqualitiesOf(const ENodesOfClasses& of_class) {
  std::vector<Equality> equalities;
  for (const auto& [cls, enodes] : of_class) {
    for (const ENodeId enode : enodes) equalities.emplace_back(enodes.front(), enode);
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

// Finds the e-node of a class that is most likely to be a part of a match with some classes.
class LikelyENodes {
 public:
  // Borrows all.
  LikelyENodes(const EGraph& graph, const Classes& classes, StepBudget* budget)
      : graph_(graph), classes_(classes), budget_(*budget) {}

  // The e-node that reads most of the classes: itself, or through one e-node of a class that it
  // reads. The oldest of several.
  ENodeId Of(ClassId cls) { return Best(cls, 0, /*looks_further=*/true).enode; }
  // The e-node that reads most of the classes itself. The oldest of several; invalid if none reads
  // any.
  ENodeId Reading(ClassId cls) { return BestReader(cls).enode; }

 private:
  struct Likely {
    ENodeId enode;
    std::ptrdiff_t read = -1;  // How many of the classes it reads.
  };

  std::ptrdiff_t NumRead(ENodeId enode) {
    const std::span<const ClassId> children = graph_.node(enode).children;
    budget_.Take(1 + static_cast<int64_t>(children.size()));
    return std::ranges::count_if(
        children, [&](ClassId child) { return classes_.contains(graph_.Find(child)); });
  }

  // Many e-nodes may read the class, so what was found is kept.
  const Likely& BestReader(ClassId cls) {
    const auto known = readers_.find(cls);
    if (known != readers_.end()) return known->second;
    return readers_[cls] = Best(cls, 1, /*looks_further=*/false);
  }

  Likely Best(ClassId cls, std::ptrdiff_t least, bool looks_further) {
    // Classes may have hundreds of e-nodes.
    constexpr int kMostENodes = 32;
    Likely best;
    int left = kMostENodes;
    for (const ENodeId enode : graph_.nodes(cls)) {
      if (--left < 0 || budget_.IsOver()) break;
      std::ptrdiff_t read = NumRead(enode);
      if (read < least) continue;
      if (looks_further) {
        for (const ClassId child : graph_.node(enode).children) {
          const ClassId id = graph_.Find(child);
          if (!classes_.contains(id)) read += std::max<std::ptrdiff_t>(BestReader(id).read, 0);
        }
      }
      if (read < best.read || (read == best.read && best.enode < enode)) continue;
      best = {enode, read};
    }
    return best;
  }

  const EGraph& graph_;
  const Classes& classes_;
  StepBudget& budget_;
  absl::flat_hash_map<ClassId, Likely> readers_;  // What BestReader has found.
};

}  // namespace

Premises::Premises(const Rule& rule, const Match& match, const domain::TensorEGraph& tensors,
                   const ENodeTable& enodes, StepBudget* budget)
    : graph_(tensors.egraph.get()), enodes_(&enodes), budget_(budget) {
  matches_ = rule.programs().empty() ? TakeAnchor(rule, match) : TakePattern(rule, match);
  if (!matches_ || rule.programs().empty()) TakeLikely(match);
  TakeConstants(match, *tensors.domain);
  for (const ClassId cls : match.classes) {
    std::vector<ENodeId>& known = of_class_[graph_->Find(cls)];
    if (known.empty() || !matches_) known.emplace_back(cls.value());
  }
  SortAndThin(of_class_);
  equalities_ = EqualitiesOf(of_class_);
  budget_->Take(static_cast<int64_t>(match.classes.size() + equalities_.size()));
}

bool Premises::TakePattern(const Rule& rule, const Match& match) {
  const std::vector<const egraph::Program*> programs = rule.programs();
  if (match.alternative >= programs.size()) return false;
  int64_t steps = 0;
  const std::vector<egraph::PlacedMatch> found =
      egraph::FindMatchesAt(*programs[match.alternative], *graph_, match.classes, &steps);
  budget_->Take(steps);
  if (steps > egraph::kMostLookedAt) budget_->NoteCut();
  for (const egraph::PlacedMatch& at : found) {
    if (at.match.ops != match.ops) continue;
    for (const ENodeId enode : at.enodes) Take(enode);
    return true;
  }
  return false;
}

bool Premises::TakeAnchor(const Rule& rule, const Match& match) {
  const ENodeId anchor = FindAnchor(rule, *graph_, match, budget_);
  if (anchor.valid()) Take(anchor);
  return anchor.valid();
}

// Takes an e-node of each class of the match and of those that are known already, and of the
// classes that these read.
void Premises::TakeLikely(const Match& match) {
  Classes classes;
  for (const ClassId cls : match.classes) classes.insert(graph_->Find(cls));
  for (const auto& [cls, enodes] : of_class_) classes.insert(cls);
  LikelyENodes likely(*graph_, classes, budget_);
  Classes next;
  for (const ClassId cls : classes) {
    const ENodeId enode = likely.Of(cls);
    if (!enode.valid()) continue;
    Take(enode);
    for (const ClassId child : graph_->node(enode).children) next.insert(graph_->Find(child));
  }
  for (const ClassId cls : next) {
    if (classes.contains(cls)) continue;
    const ENodeId enode = likely.Reading(cls);
    if (enode.valid()) Take(enode);
  }
}

// Guards read the values of constants, whatever e-node of the class was found.
void Premises::TakeConstants(const Match& match, const domain::TensorDomain& domain) {
  for (const ClassId id : match.classes) {
    const ClassId cls = graph_->Find(id);
    if (!domain.data(*graph_, cls).constant.has_value()) continue;
    for (const ENodeId enode : graph_->nodes(cls)) {
      if (domain.word(graph_->node(enode).op).sort == domain::OpWord::Sort::kConstant) Take(enode);
    }
  }
}

void Premises::Take(ENodeId enode) {
  budget_->Take(static_cast<int64_t>(graph_->node(enode).children.size()));
  TakeWithChildren(enode, *graph_, *enodes_, of_class_);
}

ENodeId Premises::RepresentativeOf(ClassId canonical) const {
  const auto known = of_class_.find(canonical);
  return known == of_class_.end() ? ENodeId(canonical.value()) : known->second.front();
}

std::vector<Equality> EqualitiesAmong(std::span<const ENodeId> enodes, const EGraph& graph,
                                      const ENodeTable& table) {
  ENodesOfClasses of_class;
  for (const ENodeId enode : enodes) TakeWithChildren(enode, graph, table, of_class);
  SortAndThin(of_class);
  return EqualitiesOf(of_class);
}

}  // namespace quotient::journal
