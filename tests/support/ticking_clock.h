#pragma once

// A clock on which a fixed time passes with each reading, so that durations are never zero and
// nothing depends on how fast the machine is.

#include <atomic>
#include <cstdint>

#include "core/base/clock.h"

namespace quotient::testing {

// Thread-safe.
class TickingClock : public Clock {
 public:
  explicit TickingClock(int64_t step_ns) : step_ns_(step_ns) {}
  int64_t NowNs() const override { return now_ns_.fetch_add(step_ns_) + step_ns_; }
  int64_t UnixMs() const override { return 0; }

 private:
  const int64_t step_ns_;
  mutable std::atomic<int64_t> now_ns_{0};
};

}  // namespace quotient::testing
