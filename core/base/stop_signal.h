#pragma once

// A signal to threads that wait most of the time. It can be set once, and stays so.

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "core/base/monotonic_mutex.h"

namespace quotient {

// Thread-safe.
class StopSignal {
 public:
  void Set() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MonotonicMutexLock lock(&mutex_);
    is_set_ = true;
  }
  bool is_set() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MonotonicMutexLock lock(&mutex_);
    return is_set_;
  }

  // Waits for the signal, or for so long. Returns whether it was set.
  bool AwaitFor(absl::Duration time) const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MonotonicMutexLock lock(&mutex_);
    const auto is_set = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_set_; };
    return mutex_.AwaitFor(is_set, time);
  }

 private:
  mutable MonotonicMutex mutex_;
  bool is_set_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace quotient
