#include "server/jobs/retention.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/fault_point.h"
#include "server/jobs/convert.h"

namespace quotient::jobs {
namespace {

// So many jobs are removed in one transaction.
constexpr int kBatch = 100;
// So many are looked at in one round to make room.
constexpr int kMostEvictions = 10'000;
// A job whose rows are smaller than this takes no room that would be worth a result.
constexpr int64_t kLargeRowBytes = int64_t{64} << 10;
// So much room is given back at once, while nobody else can write.
constexpr int64_t kGiveBackBytes = int64_t{1} << 20;

}  // namespace

absl::Status Retention::Run(RetentionRound* round) {
  const int64_t now_ms = clock_.UnixMs();
  if (limits_.keep_ms > 0) {
    QUOTIENT_RETURN_IF_ERROR(RemoveOldJobs(now_ms - limits_.keep_ms, round));
  }
  QUOTIENT_RETURN_IF_ERROR(RemoveUnusedBlobs(now_ms - kUnusedBlobMs,
                                             std::numeric_limits<int64_t>::max(),
                                             /*counts=*/true, round));
  QUOTIENT_RETURN_IF_ERROR(MakeRoom(now_ms - limits_.spare_ms, round));
  round->excess_changed = had_excess_ != (round->excess_bytes > 0);
  had_excess_ = round->excess_bytes > 0;
  return absl::OkStatus();
}

absl::StatusOr<bool> Retention::IsRoomShort() const {
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t free_bytes, blobs_.FreeBytes());
  return free_bytes < limits_.min_free_bytes;
}

absl::StatusOr<int> Retention::RemoveJobs(std::span<const std::string> ids, int64_t before_ms,
                                          RemovalCause cause) {
  int removed = 0;
  QUOTIENT_RETURN_IF_ERROR(ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    removed = 0;
    for (const std::string& id : ids) {
      QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Job> job, edit.FindReadable(id));
      if (!job.has_value() || !IsTerminal(job->state) || job->use_ms >= before_ms) continue;
      QUOTIENT_RETURN_IF_ERROR(edit.Remove(*job, cause));
      os::FaultPoint("retention.removed");
      ++removed;
    }
    return absl::OkStatus();
  }));
  return removed;
}

absl::Status Retention::RemoveOldJobs(int64_t before_ms, RetentionRound* round) {
  for (;;) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                              ledger_.store().Unused(before_ms, kBatch));
    QUOTIENT_ASSIGN_OR_RETURN(const int removed, RemoveJobs(ids, before_ms, RemovalCause::kAge));
    round->jobs_by_age += removed;
    os::FaultPoint("retention.committed");
    if (removed < kBatch) return absl::OkStatus();
  }
}

absl::Status Retention::RemoveBlob(const BlobId& id, int64_t before_ms, RetentionRound* round) {
  QUOTIENT_ASSIGN_OR_RETURN(const bool needed, ledger_.store().Refers(id));
  if (needed) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const bool removed, blobs_.RemoveUnused(id, before_ms));
  if (!removed) return absl::OkStatus();
  on_removed_(id);
  ++round->blobs;
  round->blob_bytes += id.size_bytes;
  round->held_bytes -= id.size_bytes;
  round->excess_bytes -= id.size_bytes;
  return absl::OkStatus();
}

absl::Status Retention::RemoveUnusedBlobs(int64_t before_ms, int64_t enough, bool counts,
                                          RetentionRound* round) {
  const int64_t until =
      round->blob_bytes + std::min(enough, std::numeric_limits<int64_t>::max() - round->blob_bytes);
  return blobs_.Visit([&](const HeldBlob& blob) -> absl::Status {
    if (counts) round->held_bytes += blob.id.size_bytes;
    if (blob.use_ms >= before_ms || round->blob_bytes >= until) return absl::OkStatus();
    return RemoveBlob(blob.id, before_ms, round);
  });
}

absl::Status Retention::GiveBack() {
  for (;;) {
    QUOTIENT_ASSIGN_OR_RETURN(const int64_t given, ledger_.store().GiveBack(kGiveBackBytes));
    if (given == 0) return absl::OkStatus();
  }
}

// What is free is looked at once: a file system may give room back late, and never what others
// take.
absl::Status Retention::MakeRoom(int64_t before_ms, RetentionRound* round) {
  QUOTIENT_RETURN_IF_ERROR(GiveBack());
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t free_bytes, blobs_.FreeBytes());
  QUOTIENT_ASSIGN_OR_RETURN(round->row_bytes, ledger_.store().HeldBytes());
  round->excess_bytes = limits_.min_free_bytes - free_bytes;
  if (limits_.max_bytes > 0) {
    round->excess_bytes =
        std::max(round->excess_bytes, round->held_bytes + round->row_bytes - limits_.max_bytes);
  }
  if (round->excess_bytes > 0) {
    QUOTIENT_RETURN_IF_ERROR(
        RemoveUnusedBlobs(before_ms, round->excess_bytes, /*counts=*/false, round));
  }
  if (round->excess_bytes > 0) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                              ledger_.store().Unused(before_ms, kMostEvictions));
    for (const std::string& id : ids) {
      if (round->excess_bytes <= 0) break;
      QUOTIENT_RETURN_IF_ERROR(Evict(id, before_ms, round));
    }
  }
  round->excess_bytes = std::max<int64_t>(0, round->excess_bytes);
  return absl::OkStatus();
}

absl::Status Retention::Evict(const std::string& id, int64_t before_ms, RetentionRound* round) {
  const absl::StatusOr<std::optional<Job>> job = ledger_.store().Get(id);
  if (GetReason(job.status()) == Reason::kInternal) return absl::OkStatus();
  QUOTIENT_RETURN_IF_ERROR(job.status());
  if (!job->has_value()) return absl::OkStatus();
  // What others share that may go, too, is freed when the last of them has gone.
  std::vector<BlobId> freed;
  for (const BlobId& blob : BlobsOf(**job)) {
    const std::optional<int64_t> use_ms = blobs_.LastUseMs(blob);
    if (!use_ms.has_value() || *use_ms >= before_ms) continue;
    QUOTIENT_ASSIGN_OR_RETURN(const bool needed, ledger_.store().IsWanted(blob, id, before_ms));
    if (!needed) freed.push_back(blob);
  }
  const int64_t row_bytes = RowBytes(**job);
  if (freed.empty() && (*job)->result.has_value() && row_bytes < kLargeRowBytes) {
    return absl::OkStatus();
  }
  QUOTIENT_ASSIGN_OR_RETURN(const int removed,
                            RemoveJobs({&id, 1}, before_ms, RemovalCause::kSpace));
  if (removed == 0) return absl::OkStatus();
  ++round->jobs_for_space;
  round->row_bytes -= row_bytes;
  round->excess_bytes -= row_bytes;
  for (const BlobId& blob : freed) {
    QUOTIENT_RETURN_IF_ERROR(RemoveBlob(blob, before_ms, round));
  }
  return absl::OkStatus();
}

}  // namespace quotient::jobs
