#pragma once

// ChangingCosts: how a tree search deals with costs that change while it runs, because kernels are
// being measured. It reprices the states that the search remembers, and waits for the costs that
// matter most: those of the grown state before the search begins, and those of the best state when
// it ends. Where costs never change it does nothing. Not thread-safe.

#include <cstdint>

#include "core/base/stop.h"
#include "core/search/incumbent.h"
#include "core/search/progress.h"
#include "core/search/strategy.h"
#include "core/search/successive_trees.h"
#include "core/search/walk.h"

namespace quotient::search {

class ChangingCosts {
 public:
  // Borrows all. `prices` is null if costs never change.
  ChangingCosts(Prices* prices, const Progress* progress, SuccessiveTrees* trees, Incumbent* best)
      : prices_(prices), progress_(*progress), trees_(*trees), best_(*best) {}

  // --- Repricing

  // Updates all remembered costs if measurements have arrived. Another state may then be the best.
  void Reprice();
  // The same, unless that was done a few simulations ago, since it visits all states of the tree.
  void RepriceIfDue();
  // Reprices a state that was valued before prices changed. No state costs more than the root,
  // whose best graph is contained in all of them.
  void RepriceState(State& state) const;

  // --- Waiting

  // Waits for the missing costs of the grown state, which the walk is in, values it again, and
  // repeats that until all are known. The tree search then begins with the costs that matter most,
  // and can tell whether a state is worth leaving this one for. If `stop` fires before, returns the
  // reason and leaves the walk there, since `saturate` would end there, too.
  StopReason SettleLargest(Walk& walk, const StopCondition& stop);
  // Waits until nothing is missing of the cost of the best state, or until only the time to go
  // there is left, and chooses the state that the search ends in.
  void SettleBest(const StopCondition& stop);
  // Time to reserve for SettleBest. None where costs are known, since there is nothing to wait for.
  double SecondsToSettleBest() const;

 private:
  void AwaitBest(const StopCondition& stop);

  // --- Borrowed

  Prices* const prices_;
  const Progress& progress_;
  SuccessiveTrees& trees_;
  Incumbent& best_;

  // --- State

  // Whether prices have changed at least once since the search began.
  bool was_repriced_ = false;
  // Number of simulations when prices last changed.
  int64_t last_repricing_ = 0;
  // Whether nothing was missing of the largest state's cost when the tree search began.
  bool largest_is_settled_ = false;
};

}  // namespace quotient::search
