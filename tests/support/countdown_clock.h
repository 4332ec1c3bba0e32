#pragma once

// A clock at which time is up after so many looks: a deadline at any moment of a program, the same
// one in each run.

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

  // Borrows this clock.
  StopCondition Stop() const { return StopCondition(nullptr, *this, kDeadlineNs); }

 private:
  static constexpr int64_t kDeadlineNs = 1'000'000'000'000;
  mutable std::atomic<int64_t> looks_;
};

}  // namespace quotient::testing
