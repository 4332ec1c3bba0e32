#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/clock.h"

namespace quotient::testing {

// Stands still until it is told otherwise. Thread-safe.
class FakeClock : public Clock {
 public:
  int64_t NowNs() const override {
    ++reads_;
    return ms_.load() * 1'000'000;
  }
  int64_t UnixMs() const override {
    return 1'700'000'000'000 + ms_.load() + set_forward_ms_.load();
  }
  void AdvanceMs(int64_t ms) { ms_ += ms; }
  // As when somebody sets the machine's clock: its monotonic time does not notice.
  void SetForwardMs(int64_t ms) { set_forward_ms_ += ms; }
  // How often the monotonic time was asked for.
  int reads() const { return reads_.load(); }

 private:
  std::atomic<int64_t> ms_{1'000'000};
  std::atomic<int64_t> set_forward_ms_{0};
  mutable std::atomic<int> reads_{0};
};

}  // namespace quotient::testing
