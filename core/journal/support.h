#pragma once

// Support: what a match rests on in an e-graph, as far as one can tell.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"
#include "core/journal/reasons.h"

namespace quotient::journal {

// How much counts as what a match rests on. Of a pattern one knows the e-nodes in which it was
// found. What a guard or a rule by hand has looked at is not known, so more is taken where less
// turns out not to be enough.
enum class Reach : uint8_t {
  // The e-nodes that were found. Without a pattern one of each class: of those that read most of the
  // other classes the oldest.
  kFound,
  kClasses,  // All e-nodes of the classes of the match.
  kAround,   // And those of the classes that these read, and the e-nodes that read them.
  kAll,      // Everything that was there.
};

class Support {
 public:
  // Of a match in a clean graph. `enodes` has the e-nodes of the graph, with e-nodes that stand for
  // the classes of their children.
  Support(const egraph::Rule& rule, const egraph::Match& match, const egraph::EGraph& graph,
          const ENodeTable& enodes, Reach reach);

  // Groups the e-nodes by their classes as they are now, after the graph has changed. What must be
  // equal stays as it was.
  void Renew();
  // The e-node that stands for a class of the graph as it was, by its canonical id then: one that
  // the match rests on. For other ids, the e-node that the class was made with.
  egraph::ENodeId Standing(egraph::ClassId canonical) const;
  // What must be equal for the match. Each e-node that it rests on occurs.
  const std::vector<Equality>& equalities() const { return equalities_; }

 private:
  void TakePattern(const egraph::Rule& rule, const egraph::Match& match);
  void TakeLikely(const egraph::Match& match);
  void TakeClasses(std::span<const egraph::ClassId> classes);
  void TakeAround(const egraph::Match& match);
  void Take(egraph::ENodeId enode);

  const egraph::EGraph* graph_;
  const ENodeTable* enodes_;
  // By canonical class; in each the oldest e-node stands for the class.
  absl::flat_hash_map<egraph::ClassId, std::vector<egraph::ENodeId>> of_class_;
  std::vector<Equality> equalities_;
};

// What must be equal so that these e-nodes are a part of a graph: those of one class, and each with
// what stands for it as a child of another one.
std::vector<Equality> EqualitiesAmong(std::span<const egraph::ENodeId> enodes,
                                      const egraph::EGraph& graph, const ENodeTable& table);

}  // namespace quotient::journal
