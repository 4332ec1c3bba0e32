#pragma once

// Where checkpoints are kept: of each job the last one.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::jobs {

// Durable, but not its job's checkpoint yet. Dropped, nothing of it remains. One thread.
class StagedCheckpoint {
 public:
  virtual ~StagedCheckpoint() = default;
  // Takes the place of the one before, as a whole. As quick for many bytes as for few.
  virtual absl::Status Commit() = 0;
};

// Thread-safe. Failures: STORAGE_DOWN when the disk fails or is nearly full.
class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  virtual absl::StatusOr<std::unique_ptr<StagedCheckpoint>> Stage(absl::string_view job_id,
                                                                  absl::string_view bytes) = 0;
  // NOT_FOUND if there is none. Does not check what it reads.
  virtual absl::StatusOr<std::string> Get(absl::string_view job_id) = 0;
  // OK if there is none.
  virtual absl::Status Remove(absl::string_view job_id) = 0;
  // The jobs that have one.
  virtual absl::StatusOr<std::vector<std::string>> List() = 0;
};

}  // namespace quotient::jobs
