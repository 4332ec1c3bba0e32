#pragma once

// Branch and cut on the integer linear program of an extraction problem, with COIN-OR CBC in this
// process. The relaxation at the root is tightened by cuts first; then every node of the search is
// separated in the same way.

#include <optional>
#include <vector>

#include "core/base/stop.h"
#include "core/extract/instance.h"

namespace quotient::extract {

struct BranchAndCutResult {
  // Indexed by Class; acyclic; cheaper than the cutoff. Nothing if no such choice was found.
  std::optional<std::vector<Node>> choice;
  double cost = 0;  // Cost of `choice`.
  // A lower bound on the cost of selections that are cheaper than the cutoff. If the search was
  // completed, this is the cost of `choice`, or the cutoff if there is none, less the solver's
  // relative tolerance of 1e-7.
  double lower_bound = 0;
};

// Searches for selections cheaper than `cutoff`, which must be > 0. Deterministic unless stopped;
// prints nothing. Thread-safe, but since CBC keeps state in globals, only one search runs at a time
// in a process; others wait for it, at most until `stop`.
BranchAndCutResult BranchAndCut(const Instance& instance, double cutoff, const StopCondition& stop);

}  // namespace quotient::extract
