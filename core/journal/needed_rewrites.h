#pragma once

// NeededRewrites: some rewrites of the past made in a fresh e-graph, as whoever replays the journal
// will make them.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/egraph/rule.h"
#include "core/journal/journal.h"
#include "core/journal/past.h"
#include "core/journal/replay_egraph.h"
#include "core/journal/same_enodes.h"

namespace quotient::journal {

// One thread.
class NeededRewrites {
 public:
  // Borrows the past.
  static absl::StatusOr<std::unique_ptr<NeededRewrites>> Begin(const Past& past,
                                                               const model::Graph& graph,
                                                               const model::Graph& measured,
                                                               const ReplaySettings& settings);

  // Makes the rewrites of these numbers, in their order, so that e-nodes have the same order as in
  // the search. Each is looked for as soon as what it rests on is there, and again later, because a
  // rule may not match any more when there is more. Those that do not match are made as well, as
  // far as that is possible, and returned. Fails like CheckTime. To be called once.
  absl::StatusOr<std::vector<uint32_t>> Make(std::span<const uint32_t> numbers,
                                             const StopCondition& stop);

  const ReplayEGraph& replay() const { return *replay_; }
  // The live e-node that is the same as one of the past.
  absl::StatusOr<egraph::ENodeId> FindLive(egraph::ENodeId of_past) {
    return same_.FindLive(of_past);
  }
  std::vector<Rewrite> TakeRewrites() { return std::move(rewrites_); }

 private:
  NeededRewrites(const Past& past, std::unique_ptr<ReplayEGraph> replay);

  // A rewrite that is to be made.
  struct Found {
    std::optional<egraph::Match> match;  // Nullopt while its places are not there.
    std::optional<Rewrite> described;    // Nullopt while its rule does not match.
    int trials = 0;
  };

  std::vector<std::vector<size_t>> ReadyAt(std::span<const uint32_t> numbers) const;
  absl::Status Find(const Past::Rewrite& rewrite, Found* found);
  absl::StatusOr<bool> MakeOne(const Past::Rewrite& rewrite, Found* found);

  const Past& past_;
  const std::unique_ptr<ReplayEGraph> replay_;
  SameENodes same_;
  std::vector<Rewrite> rewrites_;
};

}  // namespace quotient::journal
