#pragma once

// Verified: candidates that agree with the original.

#include <functional>
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
#include "core/report/report.h"
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

// What the report says of a check.
report::Verification VerificationOf(const verify::Checker& checker, const verify::Verdict& verdict);

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

// Compares candidates with the original, one after the other, until `most` agree, or until at least
// one agrees and `enough` fires. A candidate is skipped if `is_needless` is true of it and those
// that agree so far; `is_needless` may be empty. What was not compared is neither kept nor refused.
using IsNeedless = std::function<bool(const Packaged&, const std::vector<Verified>& agreeing)>;
Compared Compare(verify::Checker& checker, std::vector<Packaged> candidates, size_t most,
                 const StopCondition& enough, const StopCondition& stop,
                 const IsNeedless& is_needless = {});

// Adds candidates unless their files are the same as another's, and keeps the `most` that are
// predicted to be the cheapest.
void AddNew(std::vector<Verified> more, size_t most, std::vector<Verified>* candidates);

}  // namespace quotient::optimize
