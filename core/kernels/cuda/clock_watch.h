#pragma once

// Tells replays that ran at the clock of the device from those that ran throttled.

#include <algorithm>
#include <atomic>

#include "core/kernels/backend.h"
#include "core/kernels/cuda/gpu.h"

namespace quotient::kernels::cuda {

// Thread-safe.
class ClockWatch {
 public:
  // A reading counts unless its clock was more than a twentieth below the fastest one seen so far.
  // Where nobody tells the clock, all count.
  DeviceReading Judge(const Reading& reading) {
    constexpr double kShare = 0.95;
    int fastest = fastest_mhz_.load(std::memory_order_relaxed);
    while (reading.clock_mhz > fastest &&
           !fastest_mhz_.compare_exchange_weak(fastest, reading.clock_mhz)) {
    }
    fastest = std::max(fastest, reading.clock_mhz);
    const bool known = reading.clock_mhz > 0;
    return {reading.us, !known || reading.clock_mhz >= kShare * fastest};
  }

 private:
  std::atomic<int> fastest_mhz_{0};
};

}  // namespace quotient::kernels::cuda
