#pragma once

// Reasons: why e-nodes of an e-graph are equal, as sets of rewrites. Like egraph::Explainer, but it
// says which rewrite made two e-nodes equal and not only by which rule, and an explanation never
// needs anything that came later.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/egraph/proof_forest.h"
#include "core/egraph/term_table.h"
#include "core/journal/same_enodes.h"

namespace quotient::journal {

// Two e-nodes that are equal.
using Equality = std::pair<egraph::ENodeId, egraph::ENodeId>;

// One thread.
class Reasons {
 public:
  // --- Recording, in the order in which it happens. A rewrite is a number.

  // The next e-node of the table, whose children stand for their classes. `rewrite`: what made it,
  // or kNone if it came with the model.
  static constexpr uint32_t kNone = egraph::kAnalysis;
  void AddENode(egraph::OpId op, std::span<const egraph::ENodeId> children, uint32_t rewrite);
  // A rewrite made these equal.
  void AddUnion(egraph::ENodeId a, egraph::ENodeId b, uint32_t rewrite);
  // The next rewrite rests on these equalities, which hold.
  void AddRewrite(std::vector<Equality> rests_on);

  const ENodeTable& enodes() const { return table_; }

  // --- Asking

  // A rewrite rests on these earlier ones, too, instead of those that were last said of it.
  void SetGround(uint32_t rewrite, std::vector<uint32_t> earlier);

  // The rewrites because of which these equalities hold and their e-nodes are there, and all
  // rewrites that these rest on, in order.
  std::vector<uint32_t> RewritesFor(std::span<const Equality> equalities) const;
  // Those because of which the equalities hold that the given one rests on, without what these rest
  // on, in order.
  std::vector<uint32_t> RewritesBefore(uint32_t rewrite) const;

 private:
  class Collector;
  struct Rewrite {
    std::vector<Equality> rests_on;
    std::vector<uint32_t> earlier = {};
  };

  ENodeTable table_;
  egraph::TermTable terms_;
  egraph::ProofForest forest_{&terms_};
  std::vector<egraph::TermId> term_of_;  // By ENodeId.
  std::vector<uint32_t> made_by_;        // By TermId: the first that made an e-node of this term.
  std::vector<Rewrite> rewrites_;
};

}  // namespace quotient::journal
