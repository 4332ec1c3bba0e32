#pragma once

// Rescue: keeps what can be kept of a search if checking refused some of its graphs. If the model
// itself uses the size of one input for another, the search is made again without trust in names of
// dims. If a rule is wrong, it is found and left out.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/stop.h"
#include "core/optimize/baseline.h"
#include "core/optimize/job.h"
#include "core/optimize/verified.h"
#include "core/verify/checker.h"

namespace quotient::optimize {

// What checking refused.
struct Refusals {
  std::vector<Refused> refused;      // Without graphs that could not even be written.
  std::vector<std::string> applied;  // Names of the rules that the search applied.
};

struct Rescued {
  // The given graphs that stay refused. Empty if names are forgotten, because others take their
  // place then.
  std::vector<Refused> refused;
  bool names_are_forgotten = false;   // Whether the search was made again (InputNames::kForgotten).
  std::vector<std::string> culprits;  // Names of wrong rules.
  std::vector<Verified> candidates;   // Graphs that agree with the original.
  // Why the search for wrong rules ended early, if it did: CANCELLED or RUN_BUDGET, or INTERNAL if
  // the model differs even if nothing is rewritten, so that no rule is to blame.
  absl::Status ended;
  bool time_was_up = false;  // Whether it ended, early or not, when there was no time left.
};

// First checks the graph in which nothing was rewritten. If that differs from the original, types
// are inferred anew without names (InputNames::kForgotten), and the search is made again. If some
// graphs are refused even then, or if names are not the reason, finds a wrong rule among those that
// were applied (culprit.h), searches without it, and repeats that if checking refuses what is found
// then. A trial is a search with some of the rules, which takes at most a share of
// the time of the first search, and a check of its graphs.
Rescued Rescue(const Job& job, const Baseline& baseline, verify::Checker& checker,
               Refusals refusals, const StopCondition& stop);

}  // namespace quotient::optimize
