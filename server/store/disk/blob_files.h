#pragma once

// The files of blobs, as whoever reads them sees them: named by their digests, blobs/ab/cd/abcd...
// What else there is to a store is in blob_store.h for the server, and in outbox.h for the
// processes of jobs.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/digest.h"
#include "core/os/files.h"
#include "server/jobs/blob_store.h"

namespace quotient::store {

struct DiskLimits {
  int64_t max_blob_bytes = int64_t{16} << 30;
  // Blobs are refused with STORAGE_DOWN if they would leave less than this free, so that the
  // database can still grow.
  int64_t min_free_bytes = int64_t{256} << 20;
};

// The file of a blob in a store at this path.
std::string BlobPath(absl::string_view store, const Digest& digest);

// Thread-safe.
class BlobFiles : public jobs::BlobStore {
 public:
  absl::StatusOr<bool> Contains(const BlobId& id) override;
  absl::Status Verify(const BlobId& id) override;
  absl::StatusOr<std::shared_ptr<const jobs::Blob>> Open(const BlobId& id) override;

  // Whether the blob is there and intact: verifies it as Open does.
  absl::StatusOr<bool> Holds(const BlobId& id);
  // The file of a blob.
  std::string PathOf(const Digest& digest) const { return BlobPath(path_, digest); }
  // What somebody found who has read all of the file: that the bytes have the digest.
  void NoteIntact(const Digest& digest) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns LIMIT_BYTES or STORAGE_DOWN if there is no room for a blob of this size.
  absl::Status CheckRoom(int64_t size_bytes) const;
  // Returns STORAGE_DOWN if so many bytes would not leave enough free.
  absl::Status CheckFree(int64_t size_bytes) const;
  // What may still be stored without leaving too little free; negative if there is too little.
  absl::StatusOr<int64_t> RoomBytes() const;

 protected:
  BlobFiles(std::string path, const DiskLimits& limits) : path_(std::move(path)), limits_(limits) {}

  // The bytes of this open file do not have the blob's digest, or cannot be read.
  virtual void OnDamaged(const BlobId& id, const os::Fd& fd) = 0;

  const std::string& path() const { return path_; }
  // What the disk has free.
  absl::StatusOr<int64_t> DiskFreeBytes() const;
  // Whether this process has verified the blob's bytes.
  bool IsVerified(const Digest& digest) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Held while a file takes its final name or leaves it, but not while it is read or synced.
  mutable absl::Mutex mutex_;
  // Blobs whose bytes this process has verified.
  absl::flat_hash_set<Digest> verified_ ABSL_GUARDED_BY(mutex_);

 private:
  // Why a blob that was there could not be opened.
  absl::Status FailureToOpen(const BlobId& id, const absl::Status& failure);
  // Verifies the blob unless that was done before.
  absl::Status VerifyOnce(const BlobId& id);

  const std::string path_;
  const DiskLimits limits_;
};

}  // namespace quotient::store
