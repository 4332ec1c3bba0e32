#pragma once

// Declarations for tests of Optimize. Its users do not need them.

#include <span>

#include "core/optimize/optimize.h"
#include "core/rules/rule_set.h"

namespace quotient::optimize {

// Optimize with other rules than rules::AllFamilies(). Shows that wrong rules are caught.
absl::StatusOr<Result> OptimizeByRules(std::span<const rules::Family> families,
                                       const ModelFiles& files, const Options& options,
                                       const Environment& environment, const StopCondition& stop,
                                       ProgressSink* progress);

}  // namespace quotient::optimize
