#pragma once

// Distinguishes replays at the usual clock from those that were throttled or ran before the GPU was
// awake.

#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/kernels/backend.h"
#include "core/kernels/cuda/interface/gpu.h"

namespace quotient::kernels::cuda {

// The clock of one GPU's multiprocessors. Reading it takes longer than many replays, so a reading
// is reused for a while. Thread-safe.
class GpuClock {
 public:
  struct Look {
    int mhz = 0;           // 0: unknown.
    bool is_awake = true;  // The GPU is working, not at its idle clock.
  };

  explicit GpuClock(Gpu* gpu) : gpu_(*gpu) {}

  // The clock at `now_ns` of the monotonic time, or up to kIntervalNs earlier.
  Look At(int64_t now_ns) ABSL_LOCKS_EXCLUDED(mutex_);

  static constexpr int64_t kIntervalNs = 5'000'000;

 private:
  Gpu& gpu_;
  absl::Mutex mutex_;
  std::optional<int64_t> asked_ns_ ABSL_GUARDED_BY(mutex_);
  int mhz_ ABSL_GUARDED_BY(mutex_) = 0;
  int looks_at_this_clock_ ABSL_GUARDED_BY(mutex_) = 0;  // In a row.
};

// Judges the readings of one kernel or one graph, because a GPU's speed depends on what it runs.
// One thread.
class ClockWatch {
 public:
  explicit ClockWatch(GpuClock* clock) : clock_(*clock) {}

  // A reading is clean unless the GPU was not awake yet or its clock was more than a twentieth
  // below the fastest one seen so far. If the clock is unknown, all readings are clean.
  DeviceReading Judge(const Reading& reading);

 private:
  GpuClock& clock_;
  int fastest_mhz_ = 0;
};

}  // namespace quotient::kernels::cuda
