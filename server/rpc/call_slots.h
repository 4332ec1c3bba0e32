#pragma once

// Limits the number of concurrent calls that occupy a thread and memory for long.

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace quotient::rpc {

// Thread-safe.
class CallSlots {
 public:
  explicit CallSlots(int count) : free_(count) {}

  // Returns false if all slots are taken. Otherwise the caller must call GiveBack later.
  bool TryTake() {
    absl::MutexLock lock(&mutex_);
    if (free_ == 0) return false;
    --free_;
    return true;
  }
  void GiveBack() {
    absl::MutexLock lock(&mutex_);
    ++free_;
  }

 private:
  absl::Mutex mutex_;
  int free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::rpc
