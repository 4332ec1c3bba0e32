#pragma once

// NeededRewrites: some rewrites of a search, made in a fresh e-graph without the others, as whoever
// replays the journal will make them.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/egraph/rule.h"
#include "core/journal/journal.h"
#include "core/journal/replay_egraph.h"
#include "core/journal/same_enodes.h"
#include "core/journal/search_history.h"
#include "core/journal/step_budget.h"

namespace quotient::journal {

// One thread.
class NeededRewrites {
 public:
  // Borrows the history and the budget.
  static absl::StatusOr<std::unique_ptr<NeededRewrites>> Begin(const SearchHistory& history,
                                                               const model::Graph& graph,
                                                               const model::Graph& measured,
                                                               const ReplaySettings& settings,
                                                               StepBudget* budget);

  // Makes the rewrites of these numbers, in their order, so that e-nodes have the same order as in
  // the search. The match of each is looked for as soon as what it rests on is there, and again
  // later, because a rule may not match any more when there is more. Those that never match are
  // made as well, as far as that is possible, and returned; if one of them was not looked for to
  // the end, the budget notes a cut. Fails as StepBudget::Check. To be called once.
  absl::StatusOr<std::vector<uint32_t>> Make(std::span<const uint32_t> numbers);

  const ReplayEGraph& replay() const { return *replay_; }
  // The live e-node that is the same as one of the history's e-graph.
  absl::StatusOr<egraph::ENodeId> FindLive(egraph::ENodeId enode) { return same_.FindLive(enode); }
  std::vector<Rewrite> TakeRewrites() { return std::move(rewrites_); }

 private:
  NeededRewrites(const SearchHistory& history, std::unique_ptr<ReplayEGraph> replay,
                 StepBudget* budget);

  // A rewrite that is not made yet.
  struct Pending {
    std::optional<egraph::Match> match;  // Nullopt while an e-node of the match is missing.
    std::optional<Rewrite> described;    // Nullopt while the rule has not had the match.
    int trials = 0;                      // How often the match was looked for, if that is bounded.
  };

  std::vector<std::vector<size_t>> ReadyAt(std::span<const uint32_t> numbers) const;
  absl::Status Find(const SearchHistory::Rewrite& rewrite, Pending* pending);
  absl::StatusOr<bool> MakeOne(const SearchHistory::Rewrite& rewrite, Pending* pending);

  const SearchHistory& history_;
  StepBudget& budget_;
  const std::unique_ptr<ReplayEGraph> replay_;
  SameENodes same_;
  std::vector<Rewrite> rewrites_;
};

}  // namespace quotient::journal
