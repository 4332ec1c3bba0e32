#pragma once

// Rescue: what a search has to offer without the rules that made checking refuse its graphs.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
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
  std::vector<std::string> culprits;  // names of wrong rules
  // Graphs that the other rules lead to and that agree with the original; perhaps none.
  std::vector<Verified> candidates;
};

// Finds the wrong rule among those that were `applied` in a search whose graphs were refused
// (culprit.h), searches without it, and starts over if checking refuses what is found then. A trial
// is a search with a part of the rules, which takes at most a share of options.budget_seconds, and
// the check of what it finds. A trial that was stopped says nothing: CANCELLED, and RUN_BUDGET if
// no culprit was found before.
absl::StatusOr<Rescued> Rescue(const RescueContext& context, std::vector<std::string> applied,
                               const StopCondition& stop);

// The names in SearchFigures::applied.
std::vector<std::string> AppliedRules(const report::SearchFigures& figures);

}  // namespace quotient::optimize
