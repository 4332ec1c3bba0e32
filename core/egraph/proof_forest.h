#pragma once

// ProofForest: equalities between terms, closed under congruence, that remembers for each why it
// holds. Each class is a tree whose edges are reasons: what was united, or that the children of two
// terms are equal pairwise; so there is exactly one path between two equal terms, and it stays the
// same however much is united later. One thread.
//
// Reference: Nieuwenhuis & Oliveras, "Proof-producing congruence closure", RTA'05.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/egraph/term_table.h"

namespace quotient::egraph {

class ProofForest {
 public:
  // Borrows the table.
  explicit ProofForest(const TermTable* terms) : terms_(*terms) {}

  // Takes in all terms of the table, those that are congruent become equal.
  void TakeInTerms();

  // Of terms that were taken in, as the rest.
  bool Equal(TermId a, TermId b) const { return Find(a) == Find(b); }
  // Makes them equal; does nothing if they are. `origin` becomes the reason, in that direction.
  void Unite(TermId left, TermId right, Origin origin);

  struct Step {
    TermId from;
    TermId to;
    Origin origin;  // kCongruence: the children are equal pairwise
    bool forward;   // from left to right
    uint32_t edge;  // the same for both directions
  };
  // The terms must be equal.
  std::vector<Step> Path(TermId from, TermId to) const;

 private:
  struct Edge {
    TermId left;
    TermId right;
    Origin origin;
  };

  TermId Find(TermId id) const;
  std::vector<uint32_t> KeyOf(TermId id) const;
  void MakeCongruent(TermId id);
  void Link(const Edge& edge);
  void TurnRootTo(TermId id);
  // Edges from the term up to the root.
  std::vector<TermId> WayUp(TermId id) const;

  const TermTable& terms_;
  // By TermId.
  std::vector<TermId> parent_;             // of the union-find
  std::vector<uint32_t> size_;             // of its roots
  std::vector<std::vector<TermId>> uses_;  // of its roots: terms that have a child in the class
  std::vector<TermId> proof_parent_;       // of the tree of reasons; invalid: a root
  std::vector<uint32_t> proof_edge_;       // to the parent
  std::vector<Edge> edges_;
  absl::flat_hash_map<std::vector<uint32_t>, TermId> congruence_;  // by operator word and classes
  std::vector<Edge> waiting_;
};

}  // namespace quotient::egraph
