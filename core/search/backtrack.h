#pragma once

// The search of TASO, to be compared with: Jia et al., "TASO: Optimizing Deep Learning Computation
// with Automatic Generation of Graph Substitutions", SOSP'19.
//
// Of all states that it knows it takes the cheapest, the one that was seen first of equal ones, and
// applies every match of every rule by itself; what comes of it is a state to go on from, if it was
// not seen before and costs less than alpha times the best one, best as it was when the expansion
// began. It ends after `budget` such expansions.
//
// There a state is a graph, a match replaces a part of it, and alpha lets the search go through
// graphs that are worse. Here a state is an e-graph: what the matches on the way added to the
// original, which stays. So a step can hardly make it worse, and alpha drops states that lag behind
// the best one. For the same reason there is no bound of twice the original's size, which holds
// graphs in check that only grow: the task's node limit is the bound.
//
// Deterministic. One worker, whatever the task allows.

#include <cstdint>

#include "core/search/strategy.h"

namespace quotient::search {

// Defaults as in the paper.
struct BacktrackParameters {
  double alpha = 1.05;
  int64_t budget = 100;  // states to be expanded
};

class BacktrackStrategy : public Strategy {
 public:
  explicit BacktrackStrategy(const BacktrackParameters& parameters = {})
      : parameters_(parameters) {}

  const char* name() const override { return "backtrack"; }
  // Outcome.iterations counts expansions, simulations the matches that were tried.
  absl::StatusOr<Outcome> Run(Workspace& workspace, const Task& task) const override;

 private:
  const BacktrackParameters parameters_;
};

}  // namespace quotient::search
