#pragma once

// The integer linear program of an extraction problem, solved by COIN-OR CBC in this process:
// first the relaxation at the root, sharpened by loop inequalities, then branch and cut with the
// same separation at every node.

#include <optional>
#include <vector>

#include "core/base/stop.h"
#include "core/extract/instance.h"

namespace quotient::extract {

struct BranchAndCutResult {
  // By Class; acyclic; cheaper than the cutoff. Nothing if no such choice was found.
  std::optional<std::vector<Node>> choice;
  double cost = 0;  // of `choice`
  // No selection that is cheaper than the cutoff is cheaper than this. If the search came to its
  // end, the cutoff or the cost of `choice`, less the solver's tolerance, a relative 1e-7.
  double lower_bound = 0;
};

// Looks for selections cheaper than `cutoff`, which must be > 0. Deterministic unless stopped, and
// prints nothing. Thread-safe, but CBC keeps state in globals: one search at a time in a process,
// others wait for it, until `stop` says so at most.
BranchAndCutResult BranchAndCut(const Instance& instance, double cutoff, const StopCondition& stop);

}  // namespace quotient::extract
