#pragma once

// Watchdog: ends calls of a device that hangs, so that a job can be cancelled, and ends soon after
// its budget. An untrusted model may make a runtime run for hours.

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
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
  void Watch() ABSL_LOCKS_EXCLUDED(mutex_);
  // Devices are shared: what has just begun may be a call of another job.
  void Look() const;

  const Job& job_;
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // Not joinable if there is nothing to watch.
};

}  // namespace quotient::optimize
