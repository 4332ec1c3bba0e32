#pragma once

// A blob store of files named by their digests: blobs/ab/cd/abcd... A file is written in
// blobs/incoming, synced, and renamed into place, so a file with such a name is complete. One that
// turns out to be damaged is moved to blobs/damaged. The time of a file's last change is that of
// the blob's last use.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
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

// Thread-safe.
class DiskBlobStore : public jobs::BlobStore, public jobs::BlobInventory {
 public:
  // Also removes files that a crash has left in blobs/incoming. `on_damage` is called for each blob
  // that is found damaged, from any thread.
  static absl::StatusOr<std::unique_ptr<DiskBlobStore>> Open(
      const std::string& path, const DiskLimits& limits, std::function<void()> on_damage = [] {});
  // The store of another process, which has opened it, lives longer, and calls RemoveIncoming when
  // this process has ended.
  static std::unique_ptr<DiskBlobStore> Share(const std::string& path, const DiskLimits& limits,
                                              std::function<void()> on_damage);

  absl::StatusOr<bool> Contains(const BlobId& id) override;
  absl::Status Verify(const BlobId& id) override;
  absl::StatusOr<std::shared_ptr<const jobs::Blob>> Open(const BlobId& id) override;
  absl::StatusOr<BlobId> Put(absl::string_view bytes) override;
  absl::StatusOr<bool> Use(const BlobId& id) override;

  absl::Status Visit(absl::FunctionRef<absl::Status(const jobs::HeldBlob&)> visit) override;
  std::optional<int64_t> LastUseMs(const BlobId& id) const override;
  absl::StatusOr<bool> RemoveUnused(const BlobId& id, int64_t unix_ms) override;
  absl::StatusOr<int64_t> FreeBytes() const override;

  // Whether the blob is there and intact: verifies it as Open does.
  absl::StatusOr<bool> Holds(const BlobId& id);
  // Moves a complete, verified and synced file into the store. It must be on the same file system.
  absl::Status Adopt(const std::string& file, const BlobId& id);

  // The file of a blob.
  std::string PathOf(const Digest& digest) const;
  // What somebody found who has read all of the file: the bytes have the digest, or not. If a file
  // was put into the place of `fd` meanwhile, nothing happens.
  void NoteIntact(const Digest& digest) ABSL_LOCKS_EXCLUDED(mutex_);
  void SetAside(const Digest& digest, const os::Fd& fd) ABSL_LOCKS_EXCLUDED(mutex_);
  // The first blob in the order of digests after this one; nothing if it is the last one.
  std::optional<Digest> Next(std::optional<Digest> after) const;
  // Removes what a process that has ended left of blobs that it was writing.
  void RemoveIncoming(int pid) const;
  // Removes damaged files that were set aside before `unix_ms`.
  void RemoveDamaged(int64_t unix_ms) const;

  // Returns LIMIT_BYTES or STORAGE_DOWN if there is no room for a blob of this size.
  absl::Status CheckRoom(int64_t size_bytes) const;
  // Returns STORAGE_DOWN if so many bytes would not leave enough free.
  absl::Status CheckFree(int64_t size_bytes) const;
  // Writes and syncs a few bytes. Returns STORAGE_DOWN if that fails, or if so many more would not
  // leave enough free.
  absl::Status Probe(int64_t size_bytes) const;

 private:
  DiskBlobStore(std::string path, const DiskLimits& limits, std::function<void()> on_damage)
      : path_(std::move(path)), limits_(limits), on_damage_(std::move(on_damage)) {}
  // Puts files back that were taken away to be removed when the process crashed.
  absl::Status PutBackTaken() const;
  // Why a blob that was there could not be opened.
  absl::Status FailureToOpen(const BlobId& id, const absl::Status& failure);
  // Verifies the blob unless that was done before.
  absl::Status VerifyOnce(const BlobId& id) ABSL_LOCKS_EXCLUDED(mutex_);
  std::string incoming() const { return path_ + "/incoming"; }
  // A new name in that folder.
  std::string NewIncoming() const;
  std::string damaged() const { return path_ + "/damaged"; }

  const std::string path_;
  const DiskLimits limits_;
  const std::function<void()> on_damage_;

  // Held while a file takes its final name or leaves it, but not while it is read or synced.
  absl::Mutex mutex_;
  // Blobs whose bytes this process has verified.
  absl::flat_hash_set<Digest> verified_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::store
