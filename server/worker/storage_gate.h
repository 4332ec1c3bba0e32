#pragma once

// Keeps workers from taking jobs while nothing can be stored. After a failure there is a pause,
// which grows from one failure to the next. Then the storage is tried with a few bytes, and if it
// takes them, jobs are taken again. A job whose own result is too large for it is no matter of the
// gate.

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
    // Tries the storage with a few bytes. May block.
    std::function<absl::Status()> probe;
    // Is told when results cannot be stored any more, with the reason, and when they can again: OK.
    // Must not call the gate.
    std::function<void(const absl::Status&)> on_change;
  };

  StorageGate(const StoragePauses& pauses, Dependencies dependencies)
      : pauses_(pauses), dependencies_(std::move(dependencies)) {}

  // The storage has refused something.
  void Failed(const absl::Status& failure) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the storage takes a few bytes now, whatever it has refused.
  bool TakesSome() ABSL_LOCKS_EXCLUDED(mutex_);
  // The storage has taken a result.
  void Stored() ABSL_LOCKS_EXCLUDED(mutex_);
  // No job waits to try the storage with, so it is probed now and then: uploads and submissions
  // need it, too.
  void NothingToStore() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns how long no job may be taken; zero if one may.
  absl::Duration Closed() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void SetState(const absl::Status& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginPause() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StoragePauses pauses_;
  const Dependencies dependencies_;

  // Held while the storage is probed and while others are told, so that both happen in order.
  absl::Mutex mutex_;
  bool up_ ABSL_GUARDED_BY(mutex_) = true;
  absl::Duration pause_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  int64_t closed_until_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_look_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // Of an idle server.
};

}  // namespace quotient::worker
