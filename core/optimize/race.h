#pragma once

// Race: the stage "measure" of a device that can run graphs. The candidates run against the
// original, and then variants of the best one run against it.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/optimize/baseline.h"
#include "core/optimize/decide.h"
#include "core/optimize/job.h"
#include "core/optimize/verify_candidates.h"

namespace quotient::optimize {

struct RaceResult {
  absl::StatusOr<Decision> decision;  // As DecideByRunning returns it.
  std::vector<std::string> failures;  // One line for each candidate that could not be run.
  // Whether memory ran out while variants were tried. What was decided before stands.
  bool memory_ran_out = false;
};

RaceResult Race(const Job& job, const Baseline& baseline, VerifiedCandidates verified);

}  // namespace quotient::optimize
