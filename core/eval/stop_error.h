#pragma once

// The error of an evaluation that was told to stop.

#include "absl/status/status.h"
#include "core/base/reason.h"
#include "core/base/stop.h"

namespace quotient::eval {

// CANCELLED or RUN_BUDGET.
inline absl::Status StopError(StopReason reason) {
  return reason == StopReason::kCancelled
             ? MakeError(Reason::kCancelled, "evaluation was cancelled")
             : MakeError(Reason::kRunBudget, "the time for evaluation is up");
}

}  // namespace quotient::eval
