#pragma once

// Matches of rules by hand at a known place, like egraph::FindMatchesAt for patterns.

#include <span>
#include <vector>

#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"

namespace quotient::journal {

// The matches of a rule that is no pattern in a clean graph, whose classes and alternative are
// these, without repetition, in a deterministic order.
std::vector<egraph::Match> FindHandMatches(const egraph::Rule& rule, const egraph::EGraph& graph,
                                           uint32_t alternative,
                                           std::span<const egraph::ClassId> classes);

// The first e-node around which the rule finds the match. Invalid if there is none, or if the rule
// is not searched around e-nodes.
egraph::ENodeId FindAnchor(const egraph::Rule& rule, const egraph::EGraph& graph,
                           const egraph::Match& match);

}  // namespace quotient::journal
