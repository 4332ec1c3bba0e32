#pragma once

// Monte Carlo tree search over e-graphs: which rule is to grow the e-graph next, where there is no
// room for all of them.
//
// Workers share one tree (search_tree.h) under one lock and walk e-graphs of their own. Simulation
// s is selected when the results of simulations 0 to s - kWindow, and no others, are in the tree:
// so the outcome does not depend on how many workers there are or how fast they are, up to kWindow
// of them. Walking and valuing states, which is nearly all of the work, needs no lock.

#include "core/search/strategy.h"

namespace quotient::search {

class MctsStrategy : public Strategy {
 public:
  static constexpr int64_t kWindow = 32;

  const char* name() const override { return "mcts"; }
  absl::StatusOr<Outcome> Run(Workspace& workspace, const Task& task) const override;
};

}  // namespace quotient::search
