#pragma once

// Looks at the GPUs of this machine now and then, on a thread of its own, since a driver may hang.

#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "server/ops/nvml.h"

namespace quotient::ops {

// The library of NVIDIA's driver.
inline constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";

// Thread-safe.
class GpuMonitor {
 public:
  // Values are read at most once in this time, and only when somebody asks for them.
  static constexpr int64_t kLeastMs = 5'000;

  // Begins with reading the values. Borrows the clock, which must outlive the process.
  GpuMonitor(const std::string& library, const Clock* clock);
  // Waits for a moment for what is being read. A thread that hangs in the driver is left behind.
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  // Values that are not older than that; none if there are none, or while the driver does not
  // answer. Of all calls for which the driver reads values, the first waits for them, and for no
  // longer than a fraction of a second.
  std::vector<GpuSample> Latest() const;

 private:
  struct State;
  static void Watch(State& state, const std::string& library);

  const std::shared_ptr<State> state_;
};

}  // namespace quotient::ops
