#pragma once

// A clock that reaches a deadline after it was read a given number of times. Tests use it to let
// time run out at any point of a program, at the same point in each run.

#include <atomic>
#include <cstdint>

#include "core/base/clock.h"
#include "core/base/stop.h"

namespace quotient::testing {

// Thread-safe.
class CountdownClock : public Clock {
 public:
  explicit CountdownClock(int64_t looks) : looks_(looks) {}
  int64_t NowNs() const override { return looks_.fetch_sub(1) > 0 ? 0 : 2 * kDeadlineNs; }
  int64_t UnixMs() const override { return 0; }

  // A condition that fires at the deadline. It borrows this clock.
  StopCondition Stop() const { return StopCondition(nullptr, *this, kDeadlineNs); }

 private:
  static constexpr int64_t kDeadlineNs = 1'000'000'000'000;
  mutable std::atomic<int64_t> looks_;
};

}  // namespace quotient::testing
