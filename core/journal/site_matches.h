#pragma once

// Matches of site rules (rules::SiteRule) at known classes, as egraph::FindMatchesAt finds those of
// patterns.

#include <span>
#include <vector>

#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"
#include "core/journal/step_budget.h"

namespace quotient::journal {

// The matches of a rule in a clean graph whose classes and alternative are these, without
// repetition, in a deterministic order. Once the budget is over, some may be missing.
std::vector<egraph::Match> FindSiteMatches(const egraph::Rule& rule, const egraph::EGraph& graph,
                                           uint32_t alternative,
                                           std::span<const egraph::ClassId> classes,
                                           StepBudget* budget);

// The first e-node around which the rule finds the match. Invalid if there is none, if the rule is
// not searched around e-nodes, or once the budget is over.
egraph::ENodeId FindAnchor(const egraph::Rule& rule, const egraph::EGraph& graph,
                           const egraph::Match& match, StepBudget* budget);

}  // namespace quotient::journal
