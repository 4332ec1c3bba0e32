#pragma once

// Turns at hashing. Hashing what clients send takes a core for each upload that is at it. If only
// some cores may do that, calls that take no time find one, however many clients upload.

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/synchronization/mutex.h"

namespace quotient::store {

// Thread-safe.
class HashTurns {
 public:
  // So many threads may hash at the same time.
  explicit HashTurns(int count) : free_(count) {}

  // Waits for a turn, which ends with the returned object.
  [[nodiscard]] auto Take() ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto is_free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return free_ > 0; };
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&is_free));
      --free_;
    }
    return absl::MakeCleanup([this] {
      absl::MutexLock lock(&mutex_);
      ++free_;
    });
  }

 private:
  absl::Mutex mutex_;
  int free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::store
