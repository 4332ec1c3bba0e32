#pragma once

// What tests of Optimize need and its users do not.

#include <span>

#include "core/optimize/optimize.h"
#include "core/rules/rule_set.h"

namespace quotient::optimize {

// Optimize with other rules than those of rules::AllFamilies: shows that wrong ones are caught.
absl::StatusOr<Result> OptimizeByRules(std::span<const rules::Family> families,
                                       const ModelFiles& files, const Options& options,
                                       const Environment& environment, const StopCondition& stop,
                                       ProgressSink* progress);

}  // namespace quotient::optimize
