#pragma once

// The search of TASO, for comparison: Jia et al., "TASO: Optimizing Deep Learning Computation with
// Automatic Generation of Graph Substitutions", SOSP'19.
//
// Each step expands the cheapest state that has not been expanded, the one seen first among equals:
// it applies every match of every rule by itself. A resulting state is queued if it is new and
// costs less than alpha times the best cost known when the expansion began. The search ends after
// `budget` expansions.
//
// In TASO a state is a graph, a match replaces a part of it, and alpha lets the search pass through
// worse graphs. Here a state is an e-graph: the original, which stays, and what the matches on the
// way added to it. A step can hardly make it worse, so alpha only drops states that lag behind the
// best one. TASO also bounds a graph to twice the original's size, to restrain substitutions that
// only make it larger; here the task's node limit is the bound.
//
// Deterministic. One worker, whatever the task allows.

#include <cstdint>

#include "core/search/strategy.h"

namespace quotient::search {

// Defaults as in the paper.
struct BacktrackParameters {
  double alpha = 1.05;
  // Number of states to expand.
  int64_t budget = 100;
};

class BacktrackStrategy : public Strategy {
 public:
  explicit BacktrackStrategy(const BacktrackParameters& parameters = {})
      : parameters_(parameters) {}

  const char* name() const override { return "backtrack"; }
  // Outcome::iterations counts expansions, Outcome::simulations the matches that were tried.
  absl::StatusOr<Outcome> Run(Workspace& workspace, const Task& task) const override;

 private:
  const BacktrackParameters parameters_;
};

}  // namespace quotient::search
