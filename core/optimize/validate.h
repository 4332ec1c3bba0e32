#pragma once

// What a job would make of a model before it begins to optimize it. Needs no device.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/optimize/optimize.h"
#include "core/optimize/options.h"

namespace quotient::optimize {

struct Validation {
  // Why a job would return the model as it came; OK if it would look for a faster one.
  absl::Status untouched;
  std::vector<std::string> notes;  // What its report would say on reading the model, in sentences.
};

// Reads the model with these options, as Optimize does. Fails as that does with a model that is
// refused, and with CANCELLED or RUN_BUDGET when `stop` fires. Blocks. Thread-safe.
absl::StatusOr<Validation> ValidateModel(const ModelFiles& files, const Options& options,
                                         const StopCondition& stop);

}  // namespace quotient::optimize
