#pragma once

// A request to end all work, for instance by Ctrl-C. It ends waits at once and cancels calls in
// progress.

#include <functional>
#include <list>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/stop_signal.h"

namespace quotient::client {

// Thread-safe. Can be triggered once.
class Interrupt {
 public:
  void Trigger() ABSL_LOCKS_EXCLUDED(mutex_);
  bool triggered() const { return signal_.is_set(); }
  // Waits until the interrupt is triggered, or `duration` has passed. Returns whether it is
  // triggered.
  bool WaitFor(absl::Duration duration) const { return signal_.AwaitFor(duration); }

  // Calls `action` when the interrupt is triggered, or at once if it already was. Does not call it
  // after the destruction of this object. `action` must not use the interrupt, whose mutex is held.
  class Handler {
   public:
    Handler(Interrupt* interrupt, std::function<void()> action);
    ~Handler();
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;

   private:
    Interrupt& interrupt_;
    std::list<std::function<void()>>::iterator position_;
  };

 private:
  StopSignal signal_;
  absl::Mutex mutex_;
  std::list<std::function<void()>> actions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::client
