#pragma once

// Time during which this process was awake. A process that was stopped (SIGSTOP, a frozen
// container, a suspended virtual machine) finds all its deadlines passed when it goes on, before
// any of its threads could do what they were late for. On this clock a pause takes no longer than
// one step.

#include <algorithm>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"

namespace quotient::jobs {

// Thread-safe.
class AwakeClock {
 public:
  // What may pass between two looks at the clock. Whatever is beyond this counts as a pause, so it
  // has to be looked at more often than that.
  static constexpr int64_t kLongestStepMs = 10'000;

  // Borrows the clock, whose monotonic time is used.
  explicit AwakeClock(const Clock* clock) : clock_(*clock), last_ns_(clock->NowNs()) {}

  // Milliseconds since the construction.
  int64_t NowMs() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const int64_t now_ns = clock_.NowNs();
    awake_ns_ += std::clamp<int64_t>(now_ns - last_ns_, 0, kLongestStepMs * 1'000'000);
    last_ns_ = now_ns;
    return awake_ns_ / 1'000'000;
  }

 private:
  const Clock& clock_;

  absl::Mutex mutex_;
  int64_t last_ns_ ABSL_GUARDED_BY(mutex_);
  int64_t awake_ns_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace quotient::jobs
