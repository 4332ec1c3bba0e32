#pragma once

// Monte Carlo tree search over e-graphs: decides which rules grow the e-graph next when there is no
// room for all of them.
//
// Workers share one tree (search_tree.h) under one lock, and each has an e-graph of its own.
// Simulation s is selected when the results of exactly the simulations 0 to s - kWindow are in the
// tree. The outcome therefore does not depend on the number of workers, up to kWindow, or on their
// speed. Walking to states and valuing them, which is nearly all of the work, needs no lock.

#include "core/search/strategy.h"

namespace quotient::search {

class MctsStrategy : public Strategy {
 public:
  static constexpr int64_t kWindow = 32;

  const char* name() const override { return "mcts"; }
  absl::StatusOr<Outcome> Run(Workspace& workspace, const Task& task) const override;
};

}  // namespace quotient::search
