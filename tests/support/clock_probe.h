#pragma once

// ClockProbe reads the time from a clock and never reports contamination, so that a test decides
// how long samples take.

#include <cstdint>
#include <optional>

#include "core/base/clock.h"
#include "core/os/probe.h"

namespace quotient::testing {

class ClockProbe : public os::Probe {
 public:
  // Borrows the clock.
  explicit ClockProbe(const Clock* clock) : clock_(*clock) {}

  int64_t NowNs() override { return clock_.NowNs(); }
  int64_t InvoluntarySwitches() override { return 0; }
  int64_t WaitedNs() override { return 0; }
  bool IsAnyWaiting() override { return false; }
  std::optional<int64_t> CpuNs() override { return std::nullopt; }

 private:
  const Clock& clock_;
};

}  // namespace quotient::testing
