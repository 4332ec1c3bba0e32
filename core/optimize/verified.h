#pragma once

// Verified: candidates that agree with the original.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/optimize/baseline.h"
#include "core/optimize/job.h"
#include "core/optimize/package.h"
#include "core/verify/checker.h"
#include "core/verify/reference.h"

namespace quotient::optimize {

// A candidate, and how well it agrees with the original.
struct Verified {
  Packaged packaged;
  verify::Verdict verdict;
};

// A checker of candidates, with the graph that it borrows. It also borrows the original's cut.
struct OriginalChecker {
  model::Graph as_read;
  verify::Checker checker;
};

// Fails as verify::Checker::Create does.
absl::StatusOr<std::shared_ptr<OriginalChecker>> NewOriginalChecker(const Job& job,
                                                                    const Original& original);

// Candidates that agree with the original, of one search and perhaps of others without wrong rules.
struct VerifiedCandidates {
  std::shared_ptr<const OriginalChecker> checker;  // Null if nothing was compared.
  std::vector<Verified> agreeing;
};

// A candidate that does not agree with the original.
struct Refused {
  Packaged packaged;
  std::string failure;  // A sentence.
  // Whether it was found to differ only where sizes of one name differ (verify::BreaksNames).
  bool breaks_names = false;
};

// What comparing candidates with the original led to.
struct Compared {
  std::vector<Verified> agreeing;
  std::vector<Refused> refused;
  // CANCELLED or RUN_BUDGET if not all could be compared in time. The others are neither kept nor
  // refused.
  absl::Status stopped;
};

// Compares candidates with the original, one after the other, until `most` agree. The others are
// neither kept nor refused.
Compared Compare(verify::Checker& checker, std::vector<Packaged> candidates, size_t most,
                 const StopCondition& stop);

// Adds a candidate unless another one has the same file, or there are `most` candidates already.
// `most` is how many fit into memory.
void AddIfNew(Verified candidate, int most, std::vector<Verified>* candidates);

}  // namespace quotient::optimize
