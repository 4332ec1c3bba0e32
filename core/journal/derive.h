#pragma once

// Derive: the rewrites that a choice from a grown e-graph rests on, found again one by one.
//
// The e-graph of a search has many more rewrites than any one graph needs.
// 1. All of them are made again, in the order of the search, and it is noted what each rests on and
//    which e-nodes it made and made equal (SearchHistory).
// 2. What the chosen e-nodes need is followed back (Reasons).
// 3. These rewrites alone are made in a fresh e-graph, as whoever replays the journal will make
// them
//    (NeededRewrites).
// 4. A rule that does not match there looks at more than is known of it. Then its rewrite is taken
//    to rest on more (Dependence), and steps 2 to 4 are repeated.

#include <span>

#include "absl/status/statusor.h"
#include "core/domain/splits.h"
#include "core/domain/tensor_egraph.h"
#include "core/journal/journal.h"
#include "core/journal/replay_egraph.h"
#include "core/journal/step_budget.h"
#include "core/model/graph.h"

namespace quotient::journal {

// What was chosen from an e-graph that rules of a rules::RuleSet have grown.
struct Selected {
  const domain::TensorEGraph& tensors;
  std::span<const egraph::Rule* const> rules;  // Origin i + 1 is rules[i].
  std::span<const egraph::ENodeId> choice;     // By canonical ClassId, as ToGraph takes it.
  std::span<const domain::Split> splits;
};

struct Derived {
  Rewriting rewriting;
  model::Graph graph;  // What ReplayEGraph::Finish returns for it.
};

// `measured` is what Selected::tensors.original was measured as. Takes about the time in which the
// rewrites were made, a few times over. Fails with INTERNAL if the choice cannot be derived, with
// LIMIT_NODES if a replay would be refused as too large, and as StepBudget::Check; RUN_BUDGET also
// after too many passes.
absl::StatusOr<Derived> Derive(const Selected& selected, const model::Graph& measured,
                               const ReplaySettings& settings, StepBudget* budget);

}  // namespace quotient::journal
