#pragma once

// The stage that searches: the candidates that the job's search finds for the original.

#include <functional>

#include "absl/status/statusor.h"
#include "core/optimize/baseline.h"
#include "core/optimize/candidates.h"
#include "core/optimize/job.h"
#include "core/optimize/why_not.h"

namespace quotient::optimize {

// Called a few times a second. `fraction` of the time that the search may take has passed.
using SearchStageHook = std::function<void(double fraction, const SearchProgress& progress)>;

SearchSettings SettingsToSearch(const Job& job, const Baseline& baseline);

// Shows what the search ended with to `why_not`, unless nothing is asked. Fails as Search does.
absl::StatusOr<Candidates> SearchCandidates(const Job& job, const Baseline& baseline,
                                            WhyNot& why_not, const SearchStageHook& hook);

}  // namespace quotient::optimize
