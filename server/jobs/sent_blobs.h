#pragma once

// The blobs that no job has: what clients have sent, and what removed jobs have left. They count
// for a client like those of its jobs, and stay only for a while, however often somebody asks for
// them: else they would be a store that no quota bounds, and results of others would be removed for
// them.
//
// For whom a blob counts is in the job store (JobTransaction::PutLoose), from before the blob is
// there until it is gone, so that wherever a process ends there is none that counts for nobody. How
// long it has been there is in memory: for what came before the process began, that time begins
// when it is asked for.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/blob_id.h"
#include "core/base/clock.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/job_store.h"

namespace quotient::jobs {

// As a store of blobs, what clients see of one: they can look for blobs and read them. Thread-safe.
class SentBlobs : public BlobStore {
 public:
  // A blob that no job has is kept by asking for it until so long after it came.
  static constexpr int64_t kRenewMs = int64_t{24} * 3600 * 1000;
  // What a deleted job leaves goes when nobody has used it for so long: somebody who was told that
  // it is there may be about to refer to it.
  static constexpr int64_t kLeftMs = int64_t{600} * 1000;

  // Returns what a client is sending, in bytes, but for these blobs. Thread-safe and quick.
  using InTransit =
      std::function<int64_t(absl::string_view client, std::span<const BlobId> except)>;

  // All borrowed.
  struct Dependencies {
    BlobStore* blobs;
    BlobInventory* inventory;  // Of the same store.
    JobStore* jobs;
    const Clock* clock;
    // Is told of each blob that RemoveLeft has removed; thread-safe.
    std::function<void(const BlobId&)> on_removed = [](const BlobId&) {};
  };

  // A client may have `max_bytes` with its jobs, and what it has sent and is sending; 0: no limit.
  SentBlobs(Dependencies dependencies, int64_t max_bytes)
      : dependencies_(std::move(dependencies)), max_bytes_(max_bytes) {}
  // To be called before there are calls.
  void SetInTransit(InTransit in_transit) { in_transit_ = std::move(in_transit); }

  absl::StatusOr<bool> Contains(const BlobId& id) override {
    return dependencies_.blobs->Contains(id);
  }
  // Looks for the blob, and takes it as used now unless no job has it and it came too long ago.
  absl::StatusOr<bool> Use(const BlobId& id) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Verify(const BlobId& id) override { return dependencies_.blobs->Verify(id); }
  absl::StatusOr<std::shared_ptr<const Blob>> Open(const BlobId& id) override {
    return dependencies_.blobs->Open(id);
  }

  // What the client is sending, but for these blobs.
  int64_t BytesInTransit(absl::string_view client, std::span<const BlobId> except) const {
    return in_transit_(client, except);
  }
  // Returns QUOTA_BYTES if the client would have too much with this blob.
  absl::Status CheckQuota(const BlobId& id, absl::string_view client) const;

  // Stores blobs by calling `store`, which may fail halfway. From before that, they count for the
  // client unless a job has them. Returns the error of `store`, or STORAGE_DOWN if it was not
  // called.
  absl::Status Store(std::span<const BlobId> ids, absl::string_view client,
                     absl::FunctionRef<absl::Status()> store) ABSL_LOCKS_EXCLUDED(arrivals_mutex_);
  // A client has sent this blob, and it is stored.
  void Arrived(const BlobId& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // A job has taken the blob, or it was removed.
  void Forget(const BlobId& id) ABSL_LOCKS_EXCLUDED(mutex_);

  // A job that had these was deleted. Removes those that no job has, now or later: see kLeftMs.
  void Leave(std::span<const BlobId> ids) ABSL_LOCKS_EXCLUDED(mutex_, arrivals_mutex_);
  // Removes those whose time has come. To be called every few seconds.
  void RemoveLeft() ABSL_LOCKS_EXCLUDED(mutex_, arrivals_mutex_);
  // Lets no blob count that is gone, whyever that is. To be called now and then.
  absl::Status DiscountGone() ABSL_LOCKS_EXCLUDED(arrivals_mutex_);

 private:
  // Whether asking for the blob keeps it, although no job was known to have it.
  absl::StatusOr<bool> MayKeep(const BlobId& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns whether the blob is not to be removed any more: it is gone, or a job has it.
  absl::StatusOr<bool> TryToRemove(const BlobId& id) ABSL_LOCKS_EXCLUDED(mutex_, arrivals_mutex_);
  absl::Status DiscountIfGone(std::span<const BlobId> ids) ABSL_LOCKS_EXCLUDED(arrivals_mutex_);

  const Dependencies dependencies_;
  const int64_t max_bytes_;
  InTransit in_transit_ = [](absl::string_view, std::span<const BlobId>) { return 0; };

  // Held while it is looked which blobs are gone, so that none comes meanwhile.
  absl::Mutex arrivals_mutex_;
  std::multiset<BlobId> arriving_ ABSL_GUARDED_BY(arrivals_mutex_);

  absl::Mutex mutex_ ABSL_ACQUIRED_AFTER(arrivals_mutex_);
  // By the blob, when it came or was asked for first, by the monotonic clock.
  std::map<BlobId, int64_t> since_ns_ ABSL_GUARDED_BY(mutex_);
  std::set<BlobId> left_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::jobs
