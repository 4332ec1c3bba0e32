#pragma once

// The search of PACT'24 (pact_tree.h names the paper), to be compared with.
//
// A step applies one rule to all its matches, once. From the state that it has committed itself to,
// the search builds a tree by simulations: one new state, valued by a rollout of rules that are
// drawn from all, whether they match or not. Then it commits itself to the rule of the best mean
// return, throws the tree away and begins anew, until the node limit. The reward of a step is by
// how much the cost comes down, the costs being those of their greedy extraction: extractor().
//
// As published, but:
//   - what is drawn is drawn from task.seed; theirs is not seeded;
//   - states are come to by undoing and doing steps, not by keeping a copy of each;
//   - a step ends where the room does; theirs may go beyond the node limit;
//   - a match that was applied is not found again, so a rule is left out when it has no new match,
//     where theirs would have to try it to see that it changes nothing;
//   - time ends the whole search: there is no limit per step and no pause after a commit.
//
// One worker, whatever the task allows. When time or simulations run out, what was not committed is
// given up.

#include "core/search/pact_tree.h"
#include "core/search/strategy.h"

namespace quotient::search {

class PactStrategy : public Strategy {
 public:
  explicit PactStrategy(const PactParameters& parameters = {}) : parameters_(parameters) {}

  const char* name() const override { return "pact"; }
  const char* extractor() const override { return "history"; }
  // Outcome.iterations counts commits; improvements are those of committed states.
  absl::StatusOr<Outcome> Run(Workspace& workspace, const Task& task) const override;

 private:
  const PactParameters parameters_;
};

}  // namespace quotient::search
