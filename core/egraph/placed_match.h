#pragma once

// Matches of a pattern at a known place, and the e-nodes in which its left side was found there:
// for whoever applies a match again that was found before, or wants to know what it rests on.

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

// The matches of the pattern in a clean graph whose classes (Match::classes) are these, without
// repetition, in a deterministic order. Empty if the pattern or a guard does not fit there, and
// after a second or so. Match::alternative is 0. The e-nodes are missing if the left side has none.
std::vector<PlacedMatch> FindMatchesAt(const Program& program, const EGraph& graph,
                                       std::span<const ClassId> classes);

}  // namespace quotient::egraph
