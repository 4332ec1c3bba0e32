#pragma once

// A signal to a thread that waits most of the time. Unlike those of absl::Mutex, the waits are by
// the monotonic clock: if the machine's clock is set back by an hour, none takes an hour longer.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace quotient {

// Thread-safe.
class StopSignal {
 public:
  void Set() {
    {
      const std::lock_guard lock(mutex_);
      is_set_ = true;
    }
    changed_.notify_all();
  }

  // Waits for the signal, or for so long. Returns whether it was set.
  bool AwaitFor(int64_t ns) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::nanoseconds(ns), [this] { return is_set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

}  // namespace quotient
