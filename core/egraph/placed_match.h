#pragma once

// Matches of a pattern at a known place, and the e-nodes in which its left side was found there:
// for whoever applies a match again that was found before, or wants to know what it rests on.

#include <cstdint>
#include <span>
#include <vector>

#include "core/egraph/egraph.h"
#include "core/egraph/pattern_program.h"
#include "core/egraph/rule.h"

namespace quotient::egraph {

struct PlacedMatch {
  Match match;
  std::vector<ENodeId> enodes;  // In the order of the search, the leaves last.
};

// How many e-nodes one search at known classes looks at: that takes a second or so.
inline constexpr int64_t kMostLookedAt = 3'000'000;

// The matches of the pattern in a clean graph whose classes (Match::classes) are these, without
// repetition, in a deterministic order. Empty if the pattern or a guard does not fit there. Some
// are missing if there are too many e-nodes to look at. Match::alternative is 0. The e-nodes are
// missing if the left side has none. `looked_at`, if it is not null, receives how many e-nodes were
// looked at; that is more than kMostLookedAt if the search was cut short.
std::vector<PlacedMatch> FindMatchesAt(const Program& program, const EGraph& graph,
                                       std::span<const ClassId> classes,
                                       int64_t* looked_at = nullptr);

}  // namespace quotient::egraph
