#pragma once

// Rescue: what a search has to offer when checking refused some of its graphs. The graphs that are
// refused only because names are not trusted are kept if the model itself is the reason, and wrong
// rules are found and left out.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/stop.h"
#include "core/cost/cost_model.h"
#include "core/optimize/candidates.h"
#include "core/optimize/options.h"
#include "core/optimize/package.h"
#include "core/optimize/prepared.h"
#include "core/optimize/verified.h"
#include "core/verify/checker.h"

namespace quotient::optimize {

// What the refused graphs were found, written and checked with. All of it is borrowed.
struct RescueContext {
  const Prepared& original;
  const Options& options;
  const SearchSettings& search;
  const PackageSettings& package;
  verify::Checker& checker;
  cost::CostModel& costs;
};

struct Rescued {
  std::vector<Refused> refused;       // Those of the refused graphs that stay refused.
  std::vector<std::string> culprits;  // Names of wrong rules.
  // Graphs that agree with the original after all, and graphs that the other rules lead to and that
  // agree with it; perhaps none.
  std::vector<Verified> candidates;
  // Why no more is rescued. A trial that was stopped says nothing, so that it is CANCELLED or
  // RUN_BUDGET; INTERNAL if the model differs from the original even if nothing is rewritten, so
  // that no rule is to blame.
  absl::Status ended;
};

// What checking refused.
struct Refusals {
  std::vector<Refused> refused;
  int unwritten = 0;                 // Number of graphs that could not even be written.
  std::vector<std::string> applied;  // Names of the rules that the search applied.
};

// First checks the graph in which nothing is rewritten: where it shows that the model itself relies
// on names, the checker trusts them (Checker::TrustNames), and the refused graphs are checked
// again. If some stay refused, finds the wrong rule among those that were applied (culprit.h),
// searches without it, and starts over if checking refuses what is found then. A trial is a search
// with a part of the rules, which takes at most a share of options.budget_seconds, and the check of
// what it finds.
Rescued Rescue(const RescueContext& context, Refusals refusals, const StopCondition& stop);

// The names in SearchFigures::applied.
std::vector<std::string> AppliedRules(const report::SearchFigures& figures);

}  // namespace quotient::optimize
