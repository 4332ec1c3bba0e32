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

}  // namespace quotient::journal
