#include "client/cli/build_failure.h"

#include "absl/strings/cord.h"
#include "core/base/reason.h"

namespace quotient::cli {
namespace {

constexpr char kPayloadUrl[] = "quotient.dev/build_failure";

struct Row {
  BuildFailure failure;
  const char* name;
  absl::StatusCode code;
};

constexpr Row kRows[] = {
    {BuildFailure::kLockMissing, "LOCK_MISSING", absl::StatusCode::kNotFound},
    {BuildFailure::kLockInvalid, "LOCK_INVALID", absl::StatusCode::kInvalidArgument},
    {BuildFailure::kLockDiffers, "LOCK_DIFFERS", absl::StatusCode::kFailedPrecondition},
    {BuildFailure::kImprovementTooSmall, "IMPROVEMENT_TOO_SMALL",
     absl::StatusCode::kFailedPrecondition},
};

// The row whose name is the payload of a status, or null.
const Row* RowOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return nullptr;
  for (const Row& row : kRows) {
    if (*payload == row.name) return &row;
  }
  return nullptr;
}

}  // namespace

absl::Status MakeError(BuildFailure failure, absl::string_view message) {
  for (const Row& row : kRows) {
    if (row.failure != failure) continue;
    absl::Status status(row.code, message);
    status.SetPayload(kPayloadUrl, absl::Cord(row.name));
    return status;
  }
  return absl::InternalError(message);
}

std::optional<BuildFailure> GetBuildFailure(const absl::Status& status) {
  const Row* const row = RowOf(status);
  if (row == nullptr) return std::nullopt;
  return row->failure;
}

std::string FailureName(const absl::Status& status) {
  if (const Row* const row = RowOf(status)) return row->name;
  const std::optional<Reason> reason = GetReason(status);
  return reason.has_value() ? std::string(ReasonName(*reason))
                            : absl::StatusCodeToString(status.code());
}

}  // namespace quotient::cli
