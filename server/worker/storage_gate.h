#pragma once

// Keeps workers from taking jobs while their results cannot be stored. After a failure there is a
// pause, which grows from one failure to the next. Then the storage is tried with a few bytes, and
// if it takes them, with a job.

#include <cstdint>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/clock.h"

namespace quotient::worker {

struct StoragePauses {
  absl::Duration first = absl::Seconds(1);
  absl::Duration longest = absl::Minutes(5);
};

// Thread-safe.
class StorageGate {
 public:
  struct Dependencies {
    const Clock* clock;
    // Tries the storage, and whether there is room for so many bytes. May block.
    std::function<absl::Status(int64_t bytes)> probe;
    // Is told when results cannot be stored any more, and when they can again. Must not call the
    // gate.
    std::function<void(bool up)> on_change;
  };

  StorageGate(const StoragePauses& pauses, Dependencies dependencies)
      : pauses_(pauses), dependencies_(std::move(dependencies)) {}

  // The storage has refused something. `bytes` is about what it will have to take.
  void Failed(const absl::Status& failure, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // The storage has taken a result.
  void Stored() ABSL_LOCKS_EXCLUDED(mutex_);
  // No job waits to try the storage with, so it is probed now and then: uploads and submissions
  // need it, too.
  void NothingToStore() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns how long no job may be taken; zero if one may.
  absl::Duration Closed() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void SetUp(bool up) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginPause() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StoragePauses pauses_;
  const Dependencies dependencies_;

  // Held while the storage is probed and while others are told, so that both happen in order.
  absl::Mutex mutex_;
  bool up_ ABSL_GUARDED_BY(mutex_) = true;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // What the storage will have to take.
  absl::Duration pause_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  int64_t closed_until_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_look_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // Of an idle server.
};

}  // namespace quotient::worker
