#pragma once

// Somebody wants everything to end: Ctrl-C for one. Waits end at once and calls in progress are
// cancelled.

#include <functional>
#include <list>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace quotient::client {

// Thread-safe. Goes off once.
class Interrupt {
 public:
  void Trigger() ABSL_LOCKS_EXCLUDED(mutex_);
  bool triggered() const ABSL_LOCKS_EXCLUDED(mutex_);
  // True if it has gone off by then.
  bool WaitFor(absl::Duration duration) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls `action` when the interrupt goes off, at once if it has already, and never after this
  // object is gone.
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
  mutable absl::Mutex mutex_;
  bool triggered_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<std::function<void()>> actions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::client
