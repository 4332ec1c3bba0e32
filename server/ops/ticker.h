#pragma once

// A thread that calls functions periodically.

#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace quotient::ops {

class Ticker {
 public:
  struct Task {
    absl::Duration period;
    std::function<void()> run;  // Should be quick, since all tasks share one thread.
    // How long after the start it runs for the first time; if unset, after one period.
    std::optional<absl::Duration> first = {};
  };

  // Runs each task once per period.
  explicit Ticker(std::vector<Task> tasks);
  // Waits for the running task, if there is one.
  ~Ticker();

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::vector<Task> tasks_;

  absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;

  std::jthread thread_;  // Declared last: uses all of the above.
};

}  // namespace quotient::ops
