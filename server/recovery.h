#pragma once

// What a process does with what the last one on its data folder left behind: takes up the jobs that
// ran, removes checkpoints that nobody needs, and begins its own note of how it ends. All of that
// writes, so on a disk that takes nothing it has to wait, while the server answers what it can.

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/dispatch.h"
#include "server/store/disk/run_record.h"

namespace quotient {

// Thread-safe.
class Recovery {
 public:
  // `path` is that of the note. Borrows the rest.
  Recovery(std::string path, jobs::Dispatch* dispatch, jobs::Checkpoints* checkpoints);

  // Has to have succeeded before any job is claimed; then does nothing more. Error: STORAGE_DOWN,
  // after which it can be tried again.
  absl::Status Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Notes that this process was told to end.
  void NoteTold() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const std::string path_;
  const std::string boot_id_;
  jobs::Dispatch& dispatch_;
  jobs::Checkpoints& checkpoints_;

  absl::Mutex mutex_;
  std::unique_ptr<store::RunRecord> record_ ABSL_GUARDED_BY(mutex_);  // Null until it is done.
};

}  // namespace quotient
