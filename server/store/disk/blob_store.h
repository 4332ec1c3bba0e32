#pragma once

// Blobs as files named by their digest: blobs/ab/cd/abcd...; written in blobs/incoming, synced,
// renamed into place, so a name that exists holds all its bytes.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/jobs/blob_store.h"

namespace quotient::store {

struct DiskLimits {
  int64_t max_blob_bytes = int64_t{16} << 30;
  // Writing stops with STORAGE_DOWN while less than this is free, so that the database still can.
  int64_t min_free_bytes = int64_t{256} << 20;
};

// Thread-safe.
class DiskBlobStore : public jobs::BlobStore {
 public:
  // Removes what a crash left in blobs/incoming.
  static absl::StatusOr<std::unique_ptr<DiskBlobStore>> Open(const std::string& path,
                                                             const DiskLimits& limits);

  absl::StatusOr<bool> Contains(const BlobId& id) override;
  absl::StatusOr<std::shared_ptr<const jobs::Blob>> Open(const BlobId& id) override;
  absl::StatusOr<BlobId> Put(absl::string_view bytes) override;

  // Moves a complete, verified and synced file of the same file system into the store.
  absl::Status Adopt(const std::string& file, const BlobId& id);

  // LIMIT_BYTES or STORAGE_DOWN if a blob of this size should not be begun.
  absl::Status CheckRoom(int64_t size_bytes) const;

 private:
  DiskBlobStore(std::string path, const DiskLimits& limits)
      : path_(std::move(path)), limits_(limits) {}
  std::string PathOf(const BlobId& id) const;
  std::string incoming() const { return path_ + "/incoming"; }

  const std::string path_;
  const DiskLimits limits_;
};

}  // namespace quotient::store
