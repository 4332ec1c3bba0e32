#pragma once

// A mutex like absl::Mutex, whose waits for a time are by the monotonic clock. Those of absl::Mutex
// end at a time of the machine's clock: if that is set back by an hour, they take an hour longer.
//
//   const MonotonicMutexLock lock(&mutex_);
//   const auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return done_; };
//   if (!mutex_.AwaitFor(done, absl::Seconds(1))) GiveUp();
//
// As with absl::Mutex, nobody notifies: whoever unlocks wakes those whose condition holds.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace quotient {

class ABSL_LOCKABLE MonotonicMutex {
 public:
  MonotonicMutex() = default;
  MonotonicMutex(const MonotonicMutex&) = delete;
  MonotonicMutex& operator=(const MonotonicMutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    WakeWaiters();
    mutex_.unlock();
  }

  // Unlocks the mutex until `condition` holds, or for so long. Returns whether it holds. The
  // condition is called with the mutex held, by any thread, and must not use the mutex.
  bool AwaitFor(absl::FunctionRef<bool()> condition, absl::Duration time)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) {
    if (condition()) return true;
    constexpr absl::Duration kLongest = absl::Hours(100 * 365 * 24);  // Fits into nanoseconds.
    const auto end =
        std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(std::min(time, kLongest));
    Waiter self{condition, {}};
    // The caller may have changed what others wait for, and the wait unlocks the mutex.
    WakeWaiters();
    waiters_.push_back(&self);
    std::unique_lock lock(mutex_, std::adopt_lock);
    const bool holds = self.wake.wait_until(lock, end, condition);
    lock.release();  // The mutex stays locked.
    std::erase(waiters_, &self);
    return holds;
  }
  // Unlocks the mutex until `condition` holds.
  void Await(absl::FunctionRef<bool()> condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) {
    while (!AwaitFor(condition, absl::InfiniteDuration())) {
    }
  }

 private:
  struct Waiter {
    absl::FunctionRef<bool()> condition;
    std::condition_variable wake;
  };

  // None of the waiters can leave meanwhile, as the mutex is held.
  void WakeWaiters() {
    for (Waiter* waiter : waiters_) {
      if (waiter->condition()) waiter->wake.notify_one();
    }
  }

  std::mutex mutex_;
  std::vector<Waiter*> waiters_;  // Guarded by mutex_.
};

// Holds the mutex while it lives.
class ABSL_SCOPED_LOCKABLE MonotonicMutexLock {
 public:
  explicit MonotonicMutexLock(MonotonicMutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(*mutex) {
    mutex_.Lock();
  }
  ~MonotonicMutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MonotonicMutexLock(const MonotonicMutexLock&) = delete;
  MonotonicMutexLock& operator=(const MonotonicMutexLock&) = delete;

 private:
  MonotonicMutex& mutex_;
};

}  // namespace quotient
