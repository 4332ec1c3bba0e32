#pragma once

// The search of PACT'24 (pact_tree.h cites the paper), for comparison.
//
// A step applies one rule to all its matches, once. From the state it has committed to, the search
// builds a tree by simulations. Each adds one state and values it by a rollout of random rules,
// drawn from all rules whether they match or not. Then the search commits to the rule of best mean
// return, discards the tree and starts again, until the node limit. The reward of a step is the
// drop in cost. The paper has two ways to find the cost of a state: a greedy extraction of its own,
// or integer linear programming, which takes much longer.
//
// Differences from the published code:
//   - random numbers come from task.seed; theirs are not seeded;
//   - states are reached by undoing and redoing steps, not by keeping a copy of each;
//   - a step stops at the node limit; theirs may exceed it;
//   - a match is applied only once, so a rule without new matches is left out; theirs has to try a
//     rule to see that it changes nothing;
//   - the time limit is for the whole search: there is no limit per step, and no pause after a
//     commit;
//   - no cost ends the search. Theirs ends below 0.1 ms, which is less than a tenth of what any of
//     their networks takes on their GPU, but as much as some networks take on faster ones.
//
// One worker, whatever the task allows. When time or simulations run out, uncommitted steps are
// discarded.

#include "core/search/pact_tree.h"
#include "core/search/strategy.h"

namespace quotient::search {

class PactStrategy : public Strategy {
 public:
  // Which extractor values states: `history` or `ilp`.
  enum class Valuation { kGreedy, kIlp };

  explicit PactStrategy(const PactParameters& parameters = {},
                        Valuation valuation = Valuation::kGreedy)
      : parameters_(parameters), valuation_(valuation) {}

  const char* name() const override { return valuation_ == Valuation::kIlp ? "pact-ilp" : "pact"; }
  const char* extractor() const override {
    return valuation_ == Valuation::kIlp ? "ilp" : "history";
  }
  // Outcome::iterations counts commits; Outcome::improvements lists committed states.
  absl::StatusOr<Outcome> Run(Workspace& workspace, const Task& task) const override;

 private:
  const PactParameters parameters_;
  const Valuation valuation_;
};

}  // namespace quotient::search
