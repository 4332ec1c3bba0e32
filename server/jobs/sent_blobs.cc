#include "server/jobs/sent_blobs.h"

#include <optional>
#include <vector>

#include "core/base/status_macros.h"
#include "core/os/fault_point.h"
#include "server/jobs/quotas.h"

namespace quotient::jobs {
namespace {

// So many blobs are looked at in one transaction.
constexpr int kBatch = 200;

}  // namespace

absl::StatusOr<bool> SentBlobs::Use(const BlobId& id) {
  QUOTIENT_ASSIGN_OR_RETURN(const bool present, Contains(id));
  if (!present) {
    Forget(id);
    return false;
  }
  QUOTIENT_ASSIGN_OR_RETURN(const bool may_keep, MayKeep(id));
  return may_keep ? dependencies_.blobs->Use(id) : true;
}

absl::StatusOr<bool> SentBlobs::MayKeep(const BlobId& id) {
  const int64_t now_ns = dependencies_.clock->NowNs();
  {
    absl::MutexLock lock(&mutex_);
    const auto found = since_ns_.find(id);
    if (found != since_ns_.end() && now_ns - found->second < kRenewMs * 1'000'000) return true;
  }
  QUOTIENT_ASSIGN_OR_RETURN(const bool has_job, dependencies_.jobs->Refers(id));
  absl::MutexLock lock(&mutex_);
  if (has_job) {
    since_ns_.erase(id);
    return true;
  }
  return since_ns_.try_emplace(id, now_ns).second;
}

absl::Status SentBlobs::CheckQuota(const BlobId& id, absl::string_view client) const {
  if (max_bytes_ == 0) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t stored, dependencies_.jobs->BytesOf(client));
  return CheckBytes(
      {.stored = stored, .in_transit = BytesInTransit(client, {&id, 1}), .added = id.size_bytes},
      max_bytes_, "this file");
}

absl::Status SentBlobs::Store(std::span<const BlobId> ids, absl::string_view client,
                              absl::FunctionRef<absl::Status()> store) {
  {
    absl::MutexLock lock(&arrivals_mutex_);
    arriving_.insert(ids.begin(), ids.end());
  }
  absl::Status status = dependencies_.jobs->Write(
      [&](JobTransaction& transaction) { return transaction.PutLoose(client, ids); });
  os::FaultPoint("sent.counted");
  if (status.ok()) status = store();
  {
    absl::MutexLock lock(&arrivals_mutex_);
    for (const BlobId& id : ids) arriving_.erase(arriving_.find(id));
  }
  if (!status.ok()) DiscountIfGone(ids).IgnoreError();
  return status;
}

void SentBlobs::Arrived(const BlobId& id) {
  const absl::StatusOr<bool> has_job = dependencies_.jobs->Refers(id);
  if (has_job.ok() && *has_job) return;
  absl::MutexLock lock(&mutex_);
  since_ns_[id] = dependencies_.clock->NowNs();
}

void SentBlobs::Forget(const BlobId& id) {
  absl::MutexLock lock(&mutex_);
  since_ns_.erase(id);
}

void SentBlobs::Leave(std::span<const BlobId> ids) {
  for (const BlobId& id : ids) {
    if (TryToRemove(id).value_or(false)) continue;
    absl::MutexLock lock(&mutex_);
    left_.insert(id);
  }
}

void SentBlobs::RemoveLeft() {
  std::vector<BlobId> ids;
  {
    absl::MutexLock lock(&mutex_);
    ids.assign(left_.begin(), left_.end());
  }
  for (const BlobId& id : ids) {
    if (!TryToRemove(id).value_or(false)) continue;
    absl::MutexLock lock(&mutex_);
    left_.erase(id);
  }
}

absl::StatusOr<bool> SentBlobs::TryToRemove(const BlobId& id) {
  QUOTIENT_ASSIGN_OR_RETURN(const bool needed, dependencies_.jobs->Refers(id));
  if (needed) return true;
  BlobInventory& inventory = *dependencies_.inventory;
  QUOTIENT_ASSIGN_OR_RETURN(const bool removed,
                            inventory.RemoveUnused(id, dependencies_.clock->UnixMs() - kLeftMs));
  if (!removed) return !inventory.LastUseMs(id).has_value();
  Forget(id);
  dependencies_.on_removed(id);
  QUOTIENT_RETURN_IF_ERROR(DiscountIfGone({&id, 1}));
  return true;
}

absl::Status SentBlobs::DiscountGone() {
  std::optional<Digest> after;
  for (;;) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<BlobId> ids,
                              dependencies_.jobs->Loose(after, kBatch));
    if (ids.empty()) return absl::OkStatus();
    QUOTIENT_RETURN_IF_ERROR(DiscountIfGone(ids));
    after = ids.back().digest;
  }
}

absl::Status SentBlobs::DiscountIfGone(std::span<const BlobId> ids) {
  absl::MutexLock lock(&arrivals_mutex_);
  std::vector<BlobId> gone;
  for (const BlobId& id : ids) {
    const bool is_there = dependencies_.inventory->LastUseMs(id).has_value();
    if (!is_there && !arriving_.contains(id)) gone.push_back(id);
  }
  if (gone.empty()) return absl::OkStatus();
  return dependencies_.jobs->Write(
      [&](JobTransaction& transaction) { return transaction.RemoveLoose(gone); });
}

}  // namespace quotient::jobs
