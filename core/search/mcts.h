#pragma once

// Monte Carlo tree search over e-graphs: decides which rules grow the e-graph next when there is no
// room for all of them.
//
// Workers share one tree (search_tree.h) under one lock, and each has an e-graph of its own. A
// window of simulations (simulation_window.h) is under way at a time, and they are selected in an
// order that depends on neither the number of workers nor their speed; so the outcome does not,
// either. Walking to states and valuing them, which is nearly all of the work, needs no lock.

#include "core/search/strategy.h"

namespace quotient::search {

class MctsStrategy : public Strategy {
 public:
  const char* name() const override { return "mcts"; }
  absl::StatusOr<Outcome> Run(Workspace& workspace, const Task& task) const override;
};

}  // namespace quotient::search
