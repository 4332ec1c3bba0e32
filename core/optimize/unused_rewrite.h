#pragma once

// Why no candidate uses a rewrite although its rule matches at the node. The e-graph is
// asked by extracting graphs from it with and without the rewrite, and by applying the rule on
// trial where the search did not apply it.

#include <span>

#include "core/base/stop.h"
#include "core/egraph/rule.h"
#include "core/optimize/answer.h"
#include "core/optimize/asked_search.h"
#include "core/optimize/job.h"

namespace quotient::optimize {

// A rewrite of the e-graph that the search ended with. All is borrowed.
struct UnusedRewrite {
  const egraph::Rule& rule;
  egraph::Origin origin = 0;               // That of the e-nodes that the rule made.
  std::span<const egraph::ClassId> roots;  // What the rule makes equal at the node.
  std::span<const egraph::Match> matches;  // The matches at the node, if there are any.
};

// Both functions leave the e-graph as it was, except that costs are by all that is known of kernels
// afterwards. When `stop` fires, costs that are not known by then are not given.

// Answers for a rewrite that the search applied: the answer is not_chosen.
void ExplainNotChosen(const EndedSearch& search, const UnusedRewrite& rewrite,
                      const StopCondition& stop, Answer* answer);

// Answers for a rewrite that matches but was not applied: the answer is not_reached if it can be
// applied, else not_built or needs_option, or no_time if `stop` fires before that is known.
void ExplainNotApplied(const Job& job, const EndedSearch& search, const UnusedRewrite& rewrite,
                       const StopCondition& stop, Answer* answer);

}  // namespace quotient::optimize
