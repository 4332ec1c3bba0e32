#pragma once

// The stage that checks: which of the packaged candidates agree with the original, and what can be
// rescued if some do not.

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cost/cost_model.h"
#include "core/optimize/baseline.h"
#include "core/optimize/job.h"
#include "core/optimize/package.h"
#include "core/optimize/rescue.h"
#include "core/optimize/verified.h"

namespace quotient::optimize {

struct VerifiedCandidates {
  std::shared_ptr<OriginalChecker> checker;  // Null if nothing was compared.
  std::vector<Verified> agreeing;            // Of one search and perhaps of others, by rescue.
  std::shared_ptr<Variants> variants;        // As in Candidates.
  double seconds_per_candidate = 0;          // What packaging and checking one took.
  absl::Status unchecked;                    // Why all others were left unchecked, if they were.
  bool time_was_up = false;                  // Whether some were, for nothing but lack of time.
  // What came of the rescue, if there was one. Its candidates are among those that agree.
  std::optional<Rescued> rescued;
};

// The same at the prices that are known now, as AtPresent of the baseline.
VerifiedCandidates AtPresent(VerifiedCandidates verified, cost::CostModel& costs);

// Checks the candidates that could be taken, the most promising first, until enough agree. If some
// are refused or could not be written, tries to rescue what the search found (rescue.h). Fails with
// CANCELLED alone; anything else that keeps candidates from being checked is told in the result.
absl::StatusOr<VerifiedCandidates> VerifyCandidates(const Job& job, const Baseline& baseline,
                                                    PackagedCandidates packaged);

}  // namespace quotient::optimize
