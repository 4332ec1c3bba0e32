#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/clock.h"

namespace quotient::testing {

// Stands still until it is told otherwise. Thread-safe.
class FakeClock : public Clock {
 public:
  int64_t NowNs() const override { return ms_.load() * 1'000'000; }
  int64_t UnixMs() const override { return 1'700'000'000'000 + ms_.load(); }
  void AdvanceMs(int64_t ms) { ms_ += ms; }

 private:
  std::atomic<int64_t> ms_{1'000'000};
};

}  // namespace quotient::testing
