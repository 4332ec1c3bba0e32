#include "server/jobs/sent_blobs.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::jobs {

absl::StatusOr<bool> SentBlobs::Use(const BlobId& id) {
  QUOTIENT_ASSIGN_OR_RETURN(const bool present, blobs_.Contains(id));
  if (!present) {
    Forget(id);
    return false;
  }
  QUOTIENT_ASSIGN_OR_RETURN(const bool may_keep, MayKeep(id));
  return may_keep ? blobs_.Use(id) : true;
}

absl::StatusOr<bool> SentBlobs::MayKeep(const BlobId& id) {
  {
    absl::MutexLock lock(&mutex_);
    const auto found = sent_.find(id);
    if (found != sent_.end() && clock_.NowNs() - found->second.since_ns < kRenewMs * 1'000'000) {
      return true;
    }
  }
  QUOTIENT_ASSIGN_OR_RETURN(const bool has_job, jobs_.Refers(id));
  absl::MutexLock lock(&mutex_);
  if (has_job) {
    Remove(id);
    return true;
  }
  if (sent_.contains(id)) return false;
  Add(id, "");
  return true;
}

absl::Status SentBlobs::CheckQuota(const BlobId& id, absl::string_view client,
                                   int64_t open_bytes) const {
  if (max_bytes_ == 0) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t of_jobs, jobs_.BytesOf(client));
  const int64_t sent = BytesOf(client, {});
  const int64_t held = of_jobs + sent + open_bytes;
  if (held <= max_bytes_ && id.size_bytes <= max_bytes_ - held) return absl::OkStatus();
  return MakeError(Reason::kQuotaBytes,
                   absl::StrCat("this client has ", of_jobs,
                                " bytes of files and records of its jobs on the server, ", sent,
                                " that it has sent and no job has, and ", open_bytes,
                                " that it is sending; this file would add ", id.size_bytes,
                                ", and the limit is ", max_bytes_,
                                "; delete jobs that have ended, or wait until they are removed"));
}

void SentBlobs::Arrived(const BlobId& id, absl::string_view client) {
  {
    absl::MutexLock lock(&mutex_);
    Remove(id);
    Add(id, client);
  }
  // Asked only now, so that either this or Forget of a job that comes meanwhile ends the entry.
  const absl::StatusOr<bool> has_job = jobs_.Refers(id);
  if (has_job.ok() && *has_job) Forget(id);
}

void SentBlobs::Forget(const BlobId& id) {
  absl::MutexLock lock(&mutex_);
  Remove(id);
}

int64_t SentBlobs::BytesOf(absl::string_view client, std::span<const BlobId> except) const {
  absl::MutexLock lock(&mutex_);
  int64_t bytes = TotalOf(client);
  std::set<BlobId> seen;
  for (const BlobId& id : except) {
    const auto found = sent_.find(id);
    const bool counts = found != sent_.end() && found->second.client == client;
    if (counts && seen.insert(id).second) bytes -= id.size_bytes;
  }
  return bytes;
}

int64_t SentBlobs::TotalOf(absl::string_view client) const {
  const auto found = totals_.find(client);
  return found == totals_.end() ? 0 : found->second;
}

void SentBlobs::Add(const BlobId& id, absl::string_view client) {
  sent_[id] = {std::string(client), clock_.NowNs()};
  if (!client.empty()) totals_[std::string(client)] += id.size_bytes;
}

void SentBlobs::Remove(const BlobId& id) {
  const auto found = sent_.find(id);
  if (found == sent_.end()) return;
  const auto total = totals_.find(found->second.client);
  if (total != totals_.end()) {
    total->second -= id.size_bytes;
    if (total->second == 0) totals_.erase(total);
  }
  sent_.erase(found);
}

}  // namespace quotient::jobs
