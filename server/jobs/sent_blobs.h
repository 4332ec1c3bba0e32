#pragma once

// The blobs that clients have sent and no job has. They count for who sent them, and stay only for
// a while, however often somebody asks for them: else they would be a store that no quota bounds,
// and results of others would be removed for them. An entry ends when a job has the blob, or when
// the blob is found to be gone.
//
// All of that is in memory: what was sent before the process began counts for nobody, and its time
// begins when it is asked for the first time.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "absl/base/thread_annotations.h"
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

  // Borrows all. A client may have `max_bytes` with its jobs and what it has sent; 0: no limit.
  SentBlobs(BlobStore* blobs, JobStore* jobs, const Clock* clock, int64_t max_bytes)
      : blobs_(*blobs), jobs_(*jobs), clock_(*clock), max_bytes_(max_bytes) {}

  absl::StatusOr<bool> Contains(const BlobId& id) override { return blobs_.Contains(id); }
  // Looks for the blob, and takes it as used now unless no job has it and it came too long ago.
  absl::StatusOr<bool> Use(const BlobId& id) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Verify(const BlobId& id) override { return blobs_.Verify(id); }
  absl::StatusOr<std::shared_ptr<const Blob>> Open(const BlobId& id) override {
    return blobs_.Open(id);
  }

  // Returns QUOTA_BYTES if the client would have too much with this blob and uploads in progress of
  // so many bytes.
  absl::Status CheckQuota(const BlobId& id, absl::string_view client, int64_t open_bytes) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The client has sent this blob, and it is stored. Counts for nobody if a job has it already.
  void Arrived(const BlobId& id, absl::string_view client) ABSL_LOCKS_EXCLUDED(mutex_);
  // A job has taken the blob, or it was removed.
  void Forget(const BlobId& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the bytes that the client has sent and no job has taken, without these.
  int64_t BytesOf(absl::string_view client, std::span<const BlobId> except) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Sent {
    std::string client;  // Empty if it is not known.
    int64_t since_ns = 0;
  };
  // Whether asking for the blob keeps it, although no job was known to have it.
  absl::StatusOr<bool> MayKeep(const BlobId& id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Add(const BlobId& id, absl::string_view client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(const BlobId& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t TotalOf(absl::string_view client) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  BlobStore& blobs_;
  JobStore& jobs_;
  const Clock& clock_;
  const int64_t max_bytes_;

  mutable absl::Mutex mutex_;
  std::map<BlobId, Sent> sent_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int64_t, std::less<>> totals_ ABSL_GUARDED_BY(mutex_);  // By client.
};

}  // namespace quotient::jobs
