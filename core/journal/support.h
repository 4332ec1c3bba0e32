#pragma once

// Support: what a match rests on in an e-graph, as far as one can tell.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/domain/tensor_egraph.h"
#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"
#include "core/journal/reasons.h"

namespace quotient::journal {

// Of a pattern one knows the e-nodes in which it was found. What a guard has looked at is not
// known, so what makes constants of classes is taken as well. Of a rule by hand one knows the
// e-node around which it was found; with it one e-node of each class and of those that these read
// is taken: of those that read most of the classes the oldest.
class Support {
 public:
  // Of a match in a clean e-graph. `enodes` has its e-nodes, with e-nodes that stand for the
  // classes of their children. Both are borrowed.
  Support(const egraph::Rule& rule, const egraph::Match& match, const domain::TensorEGraph& tensors,
          const ENodeTable& enodes);

  // Whether the rule has the match.
  bool matches() const { return matches_; }
  // The e-node that stands for a class of the graph as it was, by its canonical id then: one that
  // the match rests on. For other ids, the e-node that the class was made with.
  egraph::ENodeId Standing(egraph::ClassId canonical) const;
  // What must be equal for the match. Each e-node that it rests on occurs.
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
  bool matches_ = false;
  // By canonical class; in each the oldest e-node stands for the class.
  absl::flat_hash_map<egraph::ClassId, std::vector<egraph::ENodeId>> of_class_;
  std::vector<Equality> equalities_;
};

// What must be equal so that these e-nodes are a part of a graph: those of one class, and each with
// what stands for it as a child of another one.
std::vector<Equality> EqualitiesAmong(std::span<const egraph::ENodeId> enodes,
                                      const egraph::EGraph& graph, const ENodeTable& table);

}  // namespace quotient::journal
