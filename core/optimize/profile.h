#pragma once

// Profile: what a model's kernels are predicted to take, and what they take when the model runs.

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/optimize/optimize.h"
#include "core/optimize/options.h"
#include "core/report/profile.h"

namespace quotient::optimize {

// Predicts the model and runs it, on random inputs. Blocks. Fails as Optimize does; with
// OPTION_INVALID for a device on which nothing can be run; with what keeps the model from being
// prepared, which Optimize only notes; and with CANCELLED or RUN_BUDGET when `stop` fires. Of the
// options, those of the search have no effect. Thread-safe.
absl::StatusOr<report::Profile> ProfileModel(const ModelFiles& files, const Options& options,
                                             const Environment& environment,
                                             const StopCondition& stop);

}  // namespace quotient::optimize
