#pragma once

// A thread that calls functions again and again.

#include <functional>
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
    std::function<void()> run;  // should be quick: the tasks share the thread
  };

  // Runs each task once a period, the first time after one period.
  explicit Ticker(std::vector<Task> tasks);
  // Waits for the task that is running, if one is.
  ~Ticker();

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::vector<Task> tasks_;

  absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;

  std::jthread thread_;  // last: uses all of the above
};

}  // namespace quotient::ops
