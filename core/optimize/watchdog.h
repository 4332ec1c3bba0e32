#pragma once

// Watchdog: ends calls of a device that hangs, so that a job can be cancelled, and ends soon after
// its budget. An untrusted model may make a runtime run for hours.

#include <thread>

#include "core/base/stop_signal.h"
#include "core/optimize/devices.h"
#include "core/optimize/job.h"

namespace quotient::optimize {

// Watches the device of a job while it lives, with any number of threads. The job is borrowed.
// Kernels of our own do not hang, so only a device that runs files is watched.
class Watchdog {
 public:
  Watchdog(const Job& job, const Device& device);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void Watch();
  // Devices are shared: what has just begun may be a call of another job.
  void Look() const;

  const Job& job_;
  StopSignal stop_;
  std::thread thread_;  // Not joinable if there is nothing to watch.
};

}  // namespace quotient::optimize
