#pragma once

// Tells replays of something that ran at its usual clock from those that ran throttled.

#include <algorithm>

#include "core/kernels/backend.h"
#include "core/kernels/cuda/gpu.h"

namespace quotient::kernels::cuda {

// Of one kernel, or one graph: how fast a GPU runs depends on what it runs. One thread.
class ClockWatch {
 public:
  // A reading counts unless its clock was more than a twentieth below the fastest one seen so far.
  // Where nobody tells the clock, all count.
  DeviceReading Judge(const Reading& reading) {
    constexpr double kShare = 0.95;
    fastest_mhz_ = std::max(fastest_mhz_, reading.clock_mhz);
    const bool known = reading.clock_mhz > 0;
    return {reading.us, !known || reading.clock_mhz >= kShare * fastest_mhz_};
  }

 private:
  int fastest_mhz_ = 0;
};

}  // namespace quotient::kernels::cuda
