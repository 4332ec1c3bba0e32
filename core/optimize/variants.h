#pragma once

// Variants: candidates without some of their rewrites. They need no new search, because they are
// chosen from the same e-graph.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/extract/extract.h"
#include "core/optimize/candidate.h"
#include "core/optimize/grown_egraph.h"
#include "core/optimize/undo.h"

namespace quotient::optimize {

// Rewrites of a candidate that are decided about together.
struct RewriteFamily {
  // The rule that made the nodes by which they replace nodes of the original. If all rewrites of a
  // candidate are by one rule, the families are the rewrites in its first and in its second half,
  // and the name says which.
  std::string name;
  // What they save by the costs of e-nodes, given that all others are made. Negative if the
  // candidate would be better without them.
  double saving_us = 0;
};

// Makes variants of the candidates that a search has found, in which families of rewrites are left
// out. One thread.
class Variants {
 public:
  // `selections` are those that the candidates were made of.
  Variants(std::shared_ptr<GrownEGraph> grown, std::vector<extract::Selection> selections);

  // The families of Candidates::found[candidate], those that save most first. Nodes that vanish
  // because other nodes compute the same belong to none. Empty if there is only one rewrite.
  std::vector<RewriteFamily> FamiliesOf(size_t candidate);
  // The candidate without these families, given by their indices. Nullopt if they cannot be left
  // out without others, or if the graph was a candidate or a variant before.
  absl::StatusOr<std::optional<Candidate>> Without(size_t candidate,
                                                   std::span<const size_t> families);

 private:
  // A family, and its classes.
  struct Family {
    Undoable undoable;
    double saving_us;
  };

  void Find(size_t candidate);
  extract::Selection SelectionWithout(size_t candidate,
                                      std::span<const egraph::ClassId> classes) const;

  const std::shared_ptr<GrownEGraph> grown_;
  const std::vector<extract::Selection> selections_;  // Parallel to Candidates::found.
  const extract::Selection original_ = OriginalSelection(grown_->graph());
  std::optional<size_t> families_of_;  // The candidate that families_ belongs to.
  std::vector<Family> families_;
};

}  // namespace quotient::optimize
