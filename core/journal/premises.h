#pragma once

// Premises: what a match rests on in an e-graph, as far as one can tell.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/domain/tensor_egraph.h"
#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"
#include "core/journal/reasons.h"
#include "core/journal/step_budget.h"

namespace quotient::journal {

// A pattern is known to match because of the e-nodes in which it was found. What its guards have
// looked at is not known, so the constants among the classes are taken as well. Of a site rule
// only the e-node around which it was found is known. What else it looked at is guessed: one e-node
// of each class of the match and of the classes that these e-nodes read, namely the one that reads
// most of the classes, the oldest of several.
class Premises {
 public:
  // Of a match in a clean e-graph. `enodes` has its e-nodes, with e-nodes that stand for the
  // classes of their children. Both are borrowed. Of no use once the budget is over.
  Premises(const egraph::Rule& rule, const egraph::Match& match,
           const domain::TensorEGraph& tensors, const ENodeTable& enodes, StepBudget* budget);

  // Whether the rule has the match.
  bool matches() const { return matches_; }
  // The oldest of the e-nodes of a class that the match rests on. The class is given by the id that
  // was canonical before the match was applied. For any other id this is the e-node that the class
  // was made with.
  egraph::ENodeId RepresentativeOf(egraph::ClassId canonical) const;
  // The equalities that must hold for the match. Each e-node that it rests on occurs in one of
  // them, if only as equal to itself.
  const std::vector<Equality>& equalities() const { return equalities_; }

 private:
  // Each returns whether the rule has the match.
  bool TakePattern(const egraph::Rule& rule, const egraph::Match& match);
  bool TakeAnchor(const egraph::Rule& rule, const egraph::Match& match);
  void TakeLikely(const egraph::Match& match);
  void TakeConstants(const egraph::Match& match, const domain::TensorDomain& domain);
  void Take(egraph::ENodeId enode);

  const egraph::EGraph* graph_;
  const ENodeTable* enodes_;
  StepBudget* budget_;
  bool matches_ = false;
  // The e-nodes that the match rests on, by canonical class. Sorted and without repetition once the
  // constructor has returned.
  absl::flat_hash_map<egraph::ClassId, std::vector<egraph::ENodeId>> of_class_;
  std::vector<Equality> equalities_;
};

// The equalities that must hold so that these e-nodes form a part of a graph: those of one class
// are equal, and each e-node of a class is equal to the e-node that stands for the class among the
// children of another one.
std::vector<Equality> EqualitiesAmong(std::span<const egraph::ENodeId> enodes,
                                      const egraph::EGraph& graph, const ENodeTable& table);

}  // namespace quotient::journal
