#include "core/base/reason.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace quotient {
namespace {

constexpr char kPayloadUrl[] = "quotient.dev/reason";

struct Row {
  Reason reason;
  const char* name;
  absl::StatusCode code;
};

constexpr Row kRows[] = {
    {Reason::kModelMalformed, "MODEL_MALFORMED", absl::StatusCode::kInvalidArgument},
    {Reason::kModelCyclic, "MODEL_CYCLIC", absl::StatusCode::kInvalidArgument},
    {Reason::kModelShape, "MODEL_SHAPE", absl::StatusCode::kInvalidArgument},
    {Reason::kShapeMissing, "SHAPE_MISSING", absl::StatusCode::kInvalidArgument},
    {Reason::kExternalDataPath, "EXTERNAL_DATA_PATH", absl::StatusCode::kInvalidArgument},
    {Reason::kExternalDataMissing, "EXTERNAL_DATA_MISSING", absl::StatusCode::kFailedPrecondition},
    {Reason::kLimitBytes, "LIMIT_BYTES", absl::StatusCode::kInvalidArgument},
    {Reason::kLimitNodes, "LIMIT_NODES", absl::StatusCode::kInvalidArgument},
    {Reason::kLimitDims, "LIMIT_DIMS", absl::StatusCode::kInvalidArgument},
    {Reason::kLimitDepth, "LIMIT_DEPTH", absl::StatusCode::kInvalidArgument},
    {Reason::kModelUnsupported, "MODEL_UNSUPPORTED", absl::StatusCode::kUnimplemented},
    {Reason::kOpsetUnknown, "OPSET_UNKNOWN", absl::StatusCode::kUnimplemented},
    {Reason::kOptionInvalid, "OPTION_INVALID", absl::StatusCode::kInvalidArgument},
    {Reason::kBadDigest, "BAD_DIGEST", absl::StatusCode::kInvalidArgument},
    {Reason::kBadPageToken, "BAD_PAGE_TOKEN", absl::StatusCode::kInvalidArgument},
    {Reason::kRequestIdReused, "REQUEST_ID_REUSED", absl::StatusCode::kAlreadyExists},
    {Reason::kBlobMissing, "BLOB_MISSING", absl::StatusCode::kFailedPrecondition},
    {Reason::kBlobCorrupt, "BLOB_CORRUPT", absl::StatusCode::kDataLoss},
    {Reason::kJournalInvalid, "JOURNAL_INVALID", absl::StatusCode::kInvalidArgument},
    {Reason::kJournalVersion, "JOURNAL_VERSION", absl::StatusCode::kFailedPrecondition},
    {Reason::kJournalMissing, "JOURNAL_MISSING", absl::StatusCode::kNotFound},
    {Reason::kJobNotFound, "JOB_NOT_FOUND", absl::StatusCode::kNotFound},
    {Reason::kJobNotFinished, "JOB_NOT_FINISHED", absl::StatusCode::kFailedPrecondition},
    {Reason::kResultNotFound, "RESULT_NOT_FOUND", absl::StatusCode::kNotFound},
    {Reason::kUploadOffset, "UPLOAD_OFFSET", absl::StatusCode::kOutOfRange},
    {Reason::kQueueFull, "QUEUE_FULL", absl::StatusCode::kUnavailable},
    {Reason::kQuotaJobs, "QUOTA_JOBS", absl::StatusCode::kResourceExhausted},
    {Reason::kQuotaBytes, "QUOTA_BYTES", absl::StatusCode::kResourceExhausted},
    {Reason::kQuotaCalls, "QUOTA_CALLS", absl::StatusCode::kResourceExhausted},
    {Reason::kQueueDeadline, "QUEUE_DEADLINE", absl::StatusCode::kDeadlineExceeded},
    {Reason::kDraining, "DRAINING", absl::StatusCode::kUnavailable},
    {Reason::kStorageDown, "STORAGE_DOWN", absl::StatusCode::kUnavailable},
    {Reason::kDeviceNotPresent, "DEVICE_NOT_PRESENT", absl::StatusCode::kFailedPrecondition},
    {Reason::kDeviceLost, "DEVICE_LOST", absl::StatusCode::kUnavailable},
    {Reason::kProgramReplaced, "PROGRAM_REPLACED", absl::StatusCode::kUnavailable},
    {Reason::kCancelled, "CANCELLED", absl::StatusCode::kCancelled},
    {Reason::kRunBudget, "RUN_BUDGET", absl::StatusCode::kDeadlineExceeded},
    {Reason::kPoisoned, "POISONED", absl::StatusCode::kInternal},
    {Reason::kInternal, "INTERNAL", absl::StatusCode::kInternal},
};

const Row& Find(Reason reason) {
  for (const Row& row : kRows) {
    if (row.reason == reason) return row;
  }
  return kRows[std::size(kRows) - 1];
}

}  // namespace

absl::string_view ReasonName(Reason reason) { return Find(reason).name; }

std::optional<Reason> ReasonFromName(absl::string_view name) {
  for (const Row& row : kRows) {
    if (name == row.name) return row.reason;
  }
  return std::nullopt;
}

absl::StatusCode ReasonCode(Reason reason) { return Find(reason).code; }

absl::Status MakeError(Reason reason, absl::string_view message) {
  const Row& row = Find(reason);
  absl::Status status(row.code, message);
  status.SetPayload(kPayloadUrl, absl::Cord(row.name));
  return status;
}

std::optional<Reason> GetReason(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return std::nullopt;
  return ReasonFromName(std::string(*payload));
}

absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), absl::StrCat(context, ": ", status.message()));
  status.ForEachPayload([&annotated](absl::string_view url, const absl::Cord& payload) {
    annotated.SetPayload(url, payload);
  });
  return annotated;
}

}  // namespace quotient
