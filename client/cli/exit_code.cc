#include "client/cli/exit_code.h"

#include <optional>

#include "client/cli/build_failure.h"
#include "core/base/reason.h"

namespace quotient::cli {
namespace {

ExitCode OfReason(Reason reason) {
  switch (reason) {
    case Reason::kJournalInvalid:
      return kExitNo;
    case Reason::kOptionInvalid:
    case Reason::kJobNotFound:
    case Reason::kJournalVersion:
      return kExitUsage;
    case Reason::kModelMalformed:
    case Reason::kModelCyclic:
    case Reason::kModelShape:
    case Reason::kShapeMissing:
    case Reason::kExternalDataPath:
    case Reason::kExternalDataMissing:
    case Reason::kLimitBytes:
    case Reason::kLimitNodes:
    case Reason::kLimitDims:
    case Reason::kLimitDepth:
    case Reason::kModelUnsupported:
    case Reason::kOpsetUnknown:
      return kExitModelRefused;
    case Reason::kJournalMissing:
      return kExitNo;
    case Reason::kJobNotFinished:
    case Reason::kResultNotFound:
    case Reason::kQueueDeadline:
    case Reason::kCancelled:
    case Reason::kRunBudget:
      return kExitNoResult;
    case Reason::kBadDigest:
    case Reason::kBadPageToken:
    case Reason::kRequestIdReused:
    case Reason::kBlobMissing:
    case Reason::kBlobCorrupt:
    case Reason::kUploadOffset:
    case Reason::kQueueFull:
    case Reason::kQuotaJobs:
    case Reason::kQuotaBytes:
    case Reason::kQuotaCalls:
    case Reason::kDraining:
    case Reason::kStorageDown:
    case Reason::kDeviceNotPresent:
    case Reason::kDeviceLost:
    case Reason::kProgramReplaced:
    case Reason::kPoisoned:
    case Reason::kInternal:
      return kExitServer;
  }
  return kExitServer;
}

ExitCode OfBuildFailure(BuildFailure failure) {
  switch (failure) {
    case BuildFailure::kLockInvalid:
      return kExitUsage;
    case BuildFailure::kLockMissing:
    case BuildFailure::kLockDiffers:
      return kExitLock;
    case BuildFailure::kImprovementTooSmall:
      return kExitTooSmall;
  }
  return kExitServer;
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitDone;
  if (const std::optional<BuildFailure> failure = GetBuildFailure(status)) {
    return OfBuildFailure(*failure);
  }
  if (const std::optional<Reason> reason = GetReason(status)) return OfReason(*reason);
  const bool stopped = absl::IsCancelled(status) || absl::IsDeadlineExceeded(status);
  return stopped ? kExitNoResult : kExitServer;
}

}  // namespace quotient::cli
