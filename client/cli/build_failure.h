#pragma once

// The failures that only `quotient optimize` in a build can have: by its lock file (lock_file.h),
// and by a gain that is too small (improvement.h). They have stable names as other failures do
// (core/base/reason.h), but no server sends or stores them.

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace quotient::cli {

enum class BuildFailure {
  kLockMissing,          // NOT_FOUND: there is no such lock file
  kLockInvalid,          // INVALID_ARGUMENT: not a lock file; the message names the line
  kLockDiffers,          // FAILED_PRECONDITION: it pins something else; the message says what
  kImprovementTooSmall,  // FAILED_PRECONDITION: the result gains less than was required
};

// A status with the failure's code, this message, and the failure as payload.
absl::Status MakeError(BuildFailure failure, absl::string_view message);

// The failure that a status carries; nullopt for all other statuses.
std::optional<BuildFailure> GetBuildFailure(const absl::Status& status);

// The stable name of what has failed, such as "LOCK_DIFFERS" or "MODEL_MALFORMED". That of the
// status code if it has no other. Of a status that is not OK.
std::string FailureName(const absl::Status& status);

}  // namespace quotient::cli
