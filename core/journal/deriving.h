#pragma once

// The errors of deriving a journal.

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/reason.h"
#include "core/base/stop.h"

namespace quotient::journal {

// INTERNAL: a choice cannot be derived.
inline absl::Status Underivable(absl::string_view why) {
  return MakeError(Reason::kInternal, absl::StrCat("it cannot be derived: ", why));
}

// CANCELLED or RUN_BUDGET when `stop` fires.
inline absl::Status CheckTime(const StopCondition& stop) {
  switch (stop.Check()) {
    case StopReason::kNone:
      return absl::OkStatus();
    case StopReason::kCancelled:
      return MakeError(Reason::kCancelled, "the job was cancelled");
    default:
      return MakeError(Reason::kRunBudget, "deriving it takes longer than it may");
  }
}

}  // namespace quotient::journal
