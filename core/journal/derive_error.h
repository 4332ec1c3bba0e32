#pragma once

// The error of a journal that cannot be derived.

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/reason.h"

namespace quotient::journal {

// INTERNAL: a choice cannot be derived. That is a defect, and not due to a limit.
inline absl::Status Underivable(absl::string_view why) {
  return MakeError(Reason::kInternal, absl::StrCat("it cannot be derived: ", why));
}

// The same for what has to be there and is NOT_FOUND; other errors stay as they are.
inline absl::Status UnderivableIfMissing(const absl::Status& status) {
  return absl::IsNotFound(status) ? Underivable(status.message()) : status;
}

}  // namespace quotient::journal
