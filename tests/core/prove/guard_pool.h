#pragma once

// The graphs in which a guard is tried.

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/rng.h"
#include "core/model/graph.h"
#include "core/prove/certificate.h"

namespace quotient::prove {

// Graphs with static types in which a rule has a match without one of its guards.
struct GuardPool {
  std::vector<model::Graph> accepted;  // The guard refuses none of the matches.
  std::vector<model::Graph> refused;   // It refuses some.
};

// Looks at the graphs and at variations of them that may have what the guard refuses
// (guard_graphs.h), until there are enough of both kinds, or too few of them have a match. `with`
// makes the rule, `without` the rule without the guard. Neither is applied.
absl::StatusOr<GuardPool> PoolOf(const RuleMaker& with, const RuleMaker& without,
                                 std::span<const model::Graph> graphs, Rng& rng);

// How many matches a rule has, at most 100.
int CountMatches(const egraph::Rule& rule, const egraph::EGraph& graph);
absl::StatusOr<int> MatchesIn(const RuleMaker& make_rule, const model::Graph& graph);

}  // namespace quotient::prove
