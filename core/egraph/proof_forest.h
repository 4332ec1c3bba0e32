#pragma once

// ProofForest keeps equalities between terms, closed under congruence, and the reason for each. A
// class is a tree whose edges are reasons: a union, or that the children of two terms are pairwise
// equal. So there is exactly one path between two equal terms, and later unions do not change it.
// One thread.
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

  // Takes in the new terms of the table and unites congruent ones.
  void TakeInTerms();

  // The methods below need terms that were taken in.
  bool Equal(TermId a, TermId b) const { return Find(a) == Find(b); }
  // Makes both terms equal with `origin` as the reason, unless they are equal already.
  void Unite(TermId left, TermId right, Origin origin);

  struct Step {
    TermId from;
    TermId to;
    Origin origin;  // kCongruence: the children are pairwise equal.
    bool forward;   // Whether it leads from the edge's left to its right term.
    uint32_t edge;  // The same for both directions.
  };
  // The terms must be equal.
  std::vector<Step> Path(TermId from, TermId to) const;

  // How many operands of terms were looked at to keep the classes closed under congruence.
  int64_t operands_looked_at() const { return operands_looked_at_; }

 private:
  struct Edge {
    TermId left;
    TermId right;
    Origin origin;
  };

  TermId Find(TermId id) const;
  std::vector<uint32_t> KeyOf(TermId id);
  void MakeCongruent(TermId id);
  // Makes the two classes one, and appends the terms with a child in the class that is absorbed.
  void Link(const Edge& edge, std::vector<TermId>* users);
  void TurnRootTo(TermId id);
  // The terms from `id` up to the root of its tree.
  std::vector<TermId> WayUp(TermId id) const;

  const TermTable& terms_;
  // --- By TermId
  std::vector<TermId> parent_;             // Parent in the union-find.
  std::vector<uint32_t> size_;             // Size of the class, for its root.
  std::vector<std::vector<TermId>> uses_;  // Terms with a child in the class, for its root.
  std::vector<TermId> proof_parent_;       // Parent in the tree of reasons; invalid for a root.
  std::vector<uint32_t> proof_edge_;       // The edge to proof_parent_.
  std::vector<Edge> edges_;
  absl::flat_hash_map<std::vector<uint32_t>, TermId> congruence_;  // By word and child classes.
  std::vector<Edge> waiting_;
  int64_t operands_looked_at_ = 0;
};

}  // namespace quotient::egraph
