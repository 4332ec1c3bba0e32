#pragma once

// A blob store of files named by their digests: blobs/ab/cd/abcd... A file is written in
// blobs/incoming, synced, and renamed into place, so a file with such a name is complete.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/jobs/blob_store.h"

namespace quotient::store {

struct DiskLimits {
  int64_t max_blob_bytes = int64_t{16} << 30;
  // Blobs are refused with STORAGE_DOWN if they would leave less than this free, so that the
  // database can still grow.
  int64_t min_free_bytes = int64_t{256} << 20;
};

// Thread-safe.
class DiskBlobStore : public jobs::BlobStore {
 public:
  // Also removes files that a crash has left in blobs/incoming.
  static absl::StatusOr<std::unique_ptr<DiskBlobStore>> Open(const std::string& path,
                                                             const DiskLimits& limits);

  absl::StatusOr<bool> Contains(const BlobId& id) override;
  absl::StatusOr<std::shared_ptr<const jobs::Blob>> Open(const BlobId& id) override;
  absl::StatusOr<BlobId> Put(absl::string_view bytes) override;

  // Moves a complete, verified and synced file into the store. It must be on the same file system.
  absl::Status Adopt(const std::string& file, const BlobId& id);

  // Returns LIMIT_BYTES or STORAGE_DOWN if there is no room for a blob of this size.
  absl::Status CheckRoom(int64_t size_bytes) const;
  // Writes and syncs a few bytes. Returns STORAGE_DOWN if that fails, or if so many more would not
  // leave enough free.
  absl::Status Probe(int64_t size_bytes) const;

 private:
  DiskBlobStore(std::string path, const DiskLimits& limits)
      : path_(std::move(path)), limits_(limits) {}
  std::string PathOf(const BlobId& id) const;
  absl::Status CheckFree(int64_t size_bytes) const;
  std::string incoming() const { return path_ + "/incoming"; }

  const std::string path_;
  const DiskLimits limits_;
};

}  // namespace quotient::store
