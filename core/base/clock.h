#pragma once

// Time comes from a Clock that is passed in, so that tests control it.

#include <chrono>
#include <cstdint>

namespace quotient {

class Clock {
 public:
  virtual ~Clock() = default;

  // Monotonic nanoseconds since an arbitrary start, for durations and deadlines. Thread-safe.
  virtual int64_t NowNs() const = 0;
  // Milliseconds since the Unix epoch, for people and records. Thread-safe.
  virtual int64_t UnixMs() const = 0;

  double SecondsSince(int64_t start_ns) const {
    return static_cast<double>(NowNs() - start_ns) * 1e-9;
  }

  // The machine's clock. Never destroyed.
  static const Clock& System();
};

}  // namespace quotient
