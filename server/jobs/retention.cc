#include "server/jobs/retention.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace quotient::jobs {
namespace {

// So many jobs are asked for at once.
constexpr int kBatch = 100;

}  // namespace

absl::StatusOr<RetentionRound> Retention::Round() {
  const int64_t now_ms = clock_.UnixMs();
  RetentionRound round;
  if (limits_.keep_ms > 0) {
    QUOTIENT_RETURN_IF_ERROR(RemoveOldJobs(now_ms - limits_.keep_ms, &round));
  }
  QUOTIENT_RETURN_IF_ERROR(RemoveUnusedBlobs(now_ms - kUnusedBlobMs, &round));
  QUOTIENT_RETURN_IF_ERROR(MakeRoom(now_ms - kLeastResultMs, &round));
  return round;
}

absl::StatusOr<bool> Retention::IsRoomShort() const {
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t free_bytes, blobs_.FreeBytes());
  return free_bytes < limits_.min_free_bytes;
}

absl::StatusOr<bool> Retention::RemoveJob(const std::string& id, int64_t before_ms) {
  bool removed = false;
  QUOTIENT_RETURN_IF_ERROR(ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Job> job, edit.store().Find(id));
    if (!job.has_value() || !IsTerminal(job->state) || job->use_ms >= before_ms) {
      return absl::OkStatus();
    }
    removed = true;
    return edit.Remove(*job);
  }));
  return removed;
}

absl::Status Retention::RemoveOldJobs(int64_t before_ms, RetentionRound* round) {
  for (;;) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                              ledger_.store().Unused(before_ms, kBatch));
    for (const std::string& id : ids) {
      QUOTIENT_ASSIGN_OR_RETURN(const bool removed, RemoveJob(id, before_ms));
      if (removed) ++round->jobs_by_age;
    }
    if (ids.size() < kBatch) return absl::OkStatus();
  }
}

absl::Status Retention::RemoveBlob(const BlobId& id, int64_t before_ms, RetentionRound* round) {
  QUOTIENT_ASSIGN_OR_RETURN(const bool needed, ledger_.store().Refers(id));
  if (needed) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const bool removed, blobs_.RemoveUnused(id, before_ms));
  if (!removed) return absl::OkStatus();
  ++round->blobs;
  round->blob_bytes += id.size_bytes;
  round->held_bytes -= id.size_bytes;
  return absl::OkStatus();
}

absl::Status Retention::RemoveUnusedBlobs(int64_t before_ms, RetentionRound* round) {
  return blobs_.Visit([&](const HeldBlob& blob) -> absl::Status {
    round->held_bytes += blob.id.size_bytes;
    if (blob.use_ms >= before_ms) return absl::OkStatus();
    return RemoveBlob(blob.id, before_ms, round);
  });
}

absl::StatusOr<int64_t> Retention::Excess(const RetentionRound& round) const {
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t free_bytes, blobs_.FreeBytes());
  const int64_t missing = limits_.min_free_bytes - free_bytes;
  if (limits_.max_blob_bytes == 0) return missing;
  return std::max(missing, round.held_bytes - limits_.max_blob_bytes);
}

absl::Status Retention::MakeRoom(int64_t before_ms, RetentionRound* round) {
  for (;;) {
    QUOTIENT_ASSIGN_OR_RETURN(const int64_t excess, Excess(*round));
    if (excess <= 0) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                              ledger_.store().Unused(before_ms, 1));
    if (ids.empty()) {
      Log().warn("{} bytes more are stored than there is room for, and nothing can be removed",
                 excess);
      return absl::OkStatus();
    }
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Job> job, ledger_.store().Get(ids[0]));
    if (!job.has_value()) continue;
    QUOTIENT_ASSIGN_OR_RETURN(const bool removed, RemoveJob(job->id, before_ms));
    if (!removed) continue;
    ++round->jobs_for_space;
    for (const BlobId& id : BlobsOf(*job)) {
      QUOTIENT_RETURN_IF_ERROR(RemoveBlob(id, before_ms, round));
    }
  }
}

}  // namespace quotient::jobs
