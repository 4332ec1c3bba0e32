#pragma once

// Interface of the store for checkpoints. It keeps the latest checkpoint of each job.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::jobs {

// A checkpoint whose bytes are durable but which has not replaced the job's previous one yet.
// Removed if destroyed without Commit. One thread at a time.
class StagedCheckpoint {
 public:
  virtual ~StagedCheckpoint() = default;
  // Replaces the previous checkpoint atomically. Takes the same time for any size.
  virtual absl::Status Commit() = 0;
};

// Thread-safe. Errors: STORAGE_DOWN if the disk fails or is nearly full.
class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  virtual absl::StatusOr<std::unique_ptr<StagedCheckpoint>> Stage(absl::string_view job_id,
                                                                  absl::string_view bytes) = 0;
  // Returns NOT_FOUND if there is none. Does not check the bytes.
  virtual absl::StatusOr<std::string> Get(absl::string_view job_id) = 0;
  // Does nothing if there is none.
  virtual absl::Status Remove(absl::string_view job_id) = 0;
  // Returns the ids of the jobs that have a checkpoint.
  virtual absl::StatusOr<std::vector<std::string>> List() = 0;
};

}  // namespace quotient::jobs
