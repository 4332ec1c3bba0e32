#include "server/jobs/quotas.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "server/jobs/convert.h"
#include "server/jobs/sent_blobs.h"

namespace quotient::jobs {

absl::Status CheckQueue(const AdmissionLimits& limits, JobTransaction& store,
                        absl::string_view client) {
  QUOTIENT_ASSIGN_OR_RETURN(const int queued, store.CountQueued());
  if (queued >= limits.max_queued) {
    return MakeError(Reason::kQueueFull, absl::StrCat(queued, " jobs are waiting already"));
  }
  QUOTIENT_ASSIGN_OR_RETURN(const int of_client, store.CountQueuedOf(client));
  if (of_client < limits.max_queued_per_client) return absl::OkStatus();
  return MakeError(Reason::kQuotaJobs,
                   absl::StrCat(of_client, " jobs of this client are waiting already"));
}

absl::Status CheckBytes(const AdmissionLimits& limits, JobTransaction& store, const SentBlobs* sent,
                        absl::string_view client, const Job& job) {
  if (limits.max_bytes_per_client == 0) return absl::OkStatus();
  const std::vector<BlobId> blobs = BlobsOf(job);
  ClientBytes bytes;
  QUOTIENT_ASSIGN_OR_RETURN(bytes.stored, store.BytesOf(client));
  if (sent != nullptr) bytes.in_transit = sent->BytesInTransit(client, blobs);
  QUOTIENT_ASSIGN_OR_RETURN(bytes.added, store.BytesNewTo(client, blobs));
  bytes.added += RowBytes(job);
  return CheckBytes(bytes, limits.max_bytes_per_client, "this job");
}

absl::Status CheckBytes(const ClientBytes& bytes, int64_t limit, absl::string_view what) {
  const int64_t held = bytes.stored + bytes.in_transit;
  // A size that a client says may be any number.
  if (held <= limit && bytes.added <= limit - held) return absl::OkStatus();
  return MakeError(
      Reason::kQuotaBytes,
      absl::StrCat("this client has ", bytes.stored,
                   " bytes of files and records on the server, and ", bytes.in_transit,
                   " that it is sending; ", what, " would add ", bytes.added, ", and the limit is ",
                   limit,
                   "; delete jobs that have ended, whose files go ten minutes after their last use,"
                   " or wait until they are removed"));
}

}  // namespace quotient::jobs
