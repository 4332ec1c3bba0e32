#pragma once

// A thread that calls functions periodically, by the monotonic clock.

#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "core/base/stop_signal.h"

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
  void Run();

  const std::vector<Task> tasks_;
  StopSignal stop_;

  std::jthread thread_;  // Declared last: uses all of the above.
};

}  // namespace quotient::ops
