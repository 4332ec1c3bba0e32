#pragma once

// Reasons: why e-nodes of an e-graph are equal, as sets of rewrites. Unlike egraph::Explainer it
// says which rewrite made two e-nodes equal, and not only by which rule, and a reason never needs
// anything that came later.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/egraph/proof_forest.h"
#include "core/egraph/term_table.h"
#include "core/journal/same_enodes.h"
#include "core/journal/step_budget.h"

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
  // How many operands were looked at so far to record this.
  int64_t operands_looked_at() const { return forest_.operands_looked_at(); }

  // --- Asking

  // Lets a rewrite rest on these earlier ones besides its equalities. They replace those that were
  // set before.
  void SetEarlier(uint32_t rewrite, std::vector<uint32_t> earlier);

  // The rewrites because of which these equalities hold and their e-nodes are there, and all
  // rewrites that these rest on, in order. Some may be missing once the budget is over.
  std::vector<uint32_t> RewritesFor(std::span<const Equality> equalities, StepBudget* budget) const;
  // The rewrites because of which the equalities hold that the given rewrite rests on, without what
  // these rest on, in order. Some may be missing once the budget is over.
  std::vector<uint32_t> RewritesBefore(uint32_t rewrite, StepBudget* budget) const;

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
