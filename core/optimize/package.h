#pragma once

// Packaging: candidates as they would leave.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/cost/cost_model.h"
#include "core/optimize/candidates.h"
#include "core/optimize/optimize.h"
#include "core/optimize/prepared.h"
#include "core/report/report.h"

namespace quotient::optimize {

// A candidate, written, read back from its own bytes, and prepared: what is checked and measured is
// what the user gets, the writer's work included.
struct Packaged {
  std::shared_ptr<OptimizedModel> files;
  Prepared prepared;
  std::vector<report::JournalEntry> journal;
  cost::GraphCost cost;  // of prepared.cut
};

// The candidates of a search, packaged.
struct PackagedCandidates {
  std::vector<Packaged> written;
  int refused = 0;                   // Number of candidates that could not be written.
  std::vector<std::string> applied;  // Names of the rules that the search applied.
};

struct PackageSettings {
  int max_opset = 0;
  std::string external_location;
  bool bind_types = false;  // shapes were bound for good
  int threads = 1;
};

// Errors are ours: a candidate that cannot be written or read back is INTERNAL.
absl::StatusOr<Packaged> Package(const Prepared& original, Candidate candidate,
                                 const PackageSettings& settings, cost::CostModel& costs,
                                 const StopCondition& stop);

}  // namespace quotient::optimize
