#pragma once

// A blob store of files named by their digests (blob_files.h). A file is written in blobs/incoming,
// synced, and renamed into place, so a file with such a name is complete. One that turns out to be
// damaged is moved to blobs/damaged. The time of a file's last change is that of the blob's last
// use. Processes of jobs have no right to write any of this: the store takes what they made from
// folders of theirs (outbox.h).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/digest.h"
#include "core/os/files.h"
#include "server/jobs/blob_store.h"
#include "server/store/disk/blob_files.h"

namespace quotient::store {

// Thread-safe.
class DiskBlobStore : public BlobFiles, public jobs::BlobInventory {
 public:
  // Also removes files that a crash has left in blobs/incoming. `on_damage` is called for each blob
  // that is found damaged, from any thread.
  static absl::StatusOr<std::unique_ptr<DiskBlobStore>> Open(
      const std::string& path, const DiskLimits& limits, std::function<void()> on_damage = [] {});
  using BlobFiles::Open;

  absl::StatusOr<bool> Use(const BlobId& id) override;

  absl::Status Visit(absl::FunctionRef<absl::Status(const jobs::HeldBlob&)> visit) override;
  std::optional<int64_t> LastUseMs(const BlobId& id) const override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<bool> RemoveUnused(const BlobId& id, int64_t unix_ms) override;
  absl::StatusOr<int64_t> FreeBytes() const override { return DiskFreeBytes(); }

  // Moves a complete, verified and synced file into the store. It must be on the same file system.
  absl::Status Adopt(const std::string& file, const BlobId& id);
  // Takes a blob that a process has made, and nobody can write any more, from its folder, unless it
  // is there. Trusts nothing of the file. BLOB_CORRUPT if it is none of these bytes, and NOT_FOUND
  // if there is none.
  absl::Status Take(const std::string& folder, const BlobId& id);

  // If a file was put into the place of `fd` meanwhile, nothing happens.
  void SetAside(const Digest& digest, const os::Fd& fd) ABSL_LOCKS_EXCLUDED(mutex_);
  // The first blob in the order of digests after this one; nothing if it is the last one.
  std::optional<Digest> Next(std::optional<Digest> after) const;
  // Removes damaged files that were set aside before `unix_ms`.
  void RemoveDamaged(int64_t unix_ms) const;

  // Writes and syncs a few bytes. Returns STORAGE_DOWN if that fails, or if too little is free.
  absl::Status Probe() const;

  // Where files lie before they take their names. What is left there is removed at the next start.
  std::string incoming() const { return path() + "/incoming"; }

 private:
  DiskBlobStore(std::string path, const DiskLimits& limits, std::function<void()> on_damage)
      : BlobFiles(std::move(path), limits), on_damage_(std::move(on_damage)) {}
  void OnDamaged(const BlobId& id, const os::Fd& fd) override { SetAside(id.digest, fd); }

  // Puts files back that were taken away to be removed when the process crashed.
  absl::Status PutBackTaken() const;
  // A new name in that folder.
  std::string NewIncoming() const;
  std::string damaged() const { return path() + "/damaged"; }

  const std::function<void()> on_damage_;
};

}  // namespace quotient::store
