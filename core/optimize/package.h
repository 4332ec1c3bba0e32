#pragma once

// Package: writes candidates and reads them back.

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

// A candidate that was written, read back from its own bytes and prepared. So the model that the
// user gets is the one that is checked and measured, and errors of the writer are found.
struct Packaged {
  std::shared_ptr<OptimizedModel> files;
  Prepared prepared;
  std::vector<report::JournalEntry> journal;
  cost::GraphCost cost;  // The cost of prepared.cut.
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
  bool bind_types = false;  // Whether shapes were bound for good.
  int threads = 1;
};

// Fails with INTERNAL if the candidate cannot be written or read back, which is a defect of
// Quotient.
absl::StatusOr<Packaged> Package(const Prepared& original, Candidate candidate,
                                 const PackageSettings& settings, cost::CostModel& costs,
                                 const StopCondition& stop);

}  // namespace quotient::optimize
