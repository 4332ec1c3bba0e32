#pragma once

// A store of uploads in progress, as pairs of files that survive a crash:
//
//   uploads/<id>         the bytes so far
//   uploads/<id>.state   "<sha256> <size> <committed> <client>\n", fixed width, overwritten in
//   place
//
// The first `committed` bytes were synced before the state file was written. Bytes beyond them are
// cut off when the upload is resumed.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/digest.h"
#include "core/os/files.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/sent_blobs.h"
#include "server/store/disk/blob_store.h"
#include "server/store/disk/hash_turns.h"
#include "server/store/disk/upload_table.h"

namespace quotient::store {

// Thread-safe.
class DiskUploadStore : public jobs::UploadStore {
 public:
  // Append syncs the file whenever this many bytes have been written since the last sync.
  static constexpr int64_t kCommitEveryBytes = int64_t{8} << 20;

  // Finished uploads are moved to `blobs`, which must be on the same file system. Borrows all.
  // `sent` counts what clients send, and asks this store what they are sending; null if that counts
  // for nobody.
  static absl::StatusOr<std::unique_ptr<DiskUploadStore>> Open(
      const std::string& path, DiskBlobStore* blobs, const UploadLimits& limits,
      HashTurns* hash_turns, const Clock* clock, jobs::SentBlobs* sent = nullptr);

  absl::StatusOr<jobs::UploadTicket> Start(const BlobId& blob, absl::string_view client) override;
  absl::StatusOr<int64_t> CommittedOffset(absl::string_view upload_id) override;
  absl::StatusOr<std::unique_ptr<jobs::UploadWriter>> Resume(absl::string_view upload_id,
                                                             int64_t offset) override;
  absl::Status Expire(int64_t unix_ms, int64_t empty_unix_ms) override;
  jobs::UploadLoad Load() const override { return table_.Load(); }

 private:
  friend class DiskUploadWriter;

  // The right to write to one upload. The writer that has last raised `holder` has it. The mutex is
  // held during each write, so that a new writer begins after the last write of its predecessor.
  struct Turn {
    absl::Mutex mutex;
    int64_t holder ABSL_GUARDED_BY(mutex) = 0;
  };

  DiskUploadStore(std::string path, DiskBlobStore* blobs, const UploadLimits& limits,
                  HashTurns* hash_turns, const Clock* clock, jobs::SentBlobs* sent)
      : path_(std::move(path)),
        blobs_(*blobs),
        table_(limits, clock),
        hash_turns_(*hash_turns),
        sent_(sent) {}
  // The ids of all uploads, by their state files.
  absl::StatusOr<std::vector<std::string>> Ids() const;
  // QUOTA_BYTES if the client would have too much with this upload.
  absl::Status CheckQuota(const UploadState& state) const;
  // Makes the file of a complete upload a blob, which counts for its client.
  absl::Status Adopt(const std::string& path, const UploadState& state);
  // Makes what is reserved under this id an upload, if the client may have it.
  absl::Status Begin(const std::string& id, const UploadState& state) const;
  absl::Status CreateFiles(const std::string& id, const UploadState& state) const;
  absl::StatusOr<std::string> PathOf(absl::string_view upload_id) const;
  std::shared_ptr<Turn> TurnOf(absl::string_view upload_id);
  void Remove(absl::string_view upload_id);

  const std::string path_;
  DiskBlobStore& blobs_;
  UploadTable table_;
  HashTurns& hash_turns_;
  jobs::SentBlobs* const sent_;

  // Where the digest of an upload stands that nobody writes to, so that a resumed one need not read
  // its bytes again. Only of writers of this process.
  struct Hashed {
    int64_t offset = 0;
    Digester digester;
  };
  void KeepHashed(absl::string_view upload_id, Hashed hashed) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads the upload's first `size` bytes unless their digest was kept.
  absl::StatusOr<Digester> TakeHashed(absl::string_view upload_id, const os::Fd& fd, int64_t size)
      ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<Turn>> turns_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Hashed> hashed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::store
