#pragma once

// A checkpoint store of files named by their jobs: checkpoints/<job id>. A file is written under a
// temporary name in the same folder, synced, and renamed into place.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/jobs/checkpoint_store.h"
#include "server/store/disk/blob_store.h"

namespace quotient::store {

// Thread-safe.
class DiskCheckpointStore : public jobs::CheckpointStore {
 public:
  // Also removes incomplete files that a crash has left. Borrows `blobs`, which decides whether
  // there is room for a checkpoint.
  static absl::StatusOr<std::unique_ptr<DiskCheckpointStore>> Open(const std::string& path,
                                                                   const DiskBlobStore* blobs);

  absl::StatusOr<std::unique_ptr<jobs::StagedCheckpoint>> Stage(absl::string_view job_id,
                                                                absl::string_view bytes) override;
  absl::StatusOr<std::string> Get(absl::string_view job_id) override;
  absl::Status Remove(absl::string_view job_id) override;
  absl::StatusOr<std::vector<std::string>> List() override;

 private:
  DiskCheckpointStore(std::string path, const DiskBlobStore* blobs)
      : path_(std::move(path)), blobs_(*blobs) {}
  absl::StatusOr<std::string> PathOf(absl::string_view job_id) const;
  absl::StatusOr<std::vector<std::string>> Names() const;

  const std::string path_;
  const DiskBlobStore& blobs_;
};

}  // namespace quotient::store
