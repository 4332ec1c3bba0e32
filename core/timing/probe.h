#pragma once

// Probe: what a measurement asks the operating system. The seam by which tests decide how long
// things took.

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/clock.h"

namespace quotient::timing {

class Probe {
 public:
  virtual ~Probe() = default;
  virtual int64_t NowNs() = 0;
  // How often the measured threads have been taken off their cores against their will, ever. A
  // sample over which this grows is contaminated.
  virtual int64_t InvoluntarySwitches() = 0;
  // How long they have been ready to run without a core, ever. A sample over which this grows by
  // more than a twentieth of it is contaminated.
  virtual int64_t WaitedNs() = 0;
  // CPU time of the measured thread: what a contaminated sample would have taken alone, but for
  // the caches. Nothing where kernels use more threads, which spin while they wait.
  virtual std::optional<int64_t> CpuNs() = 0;
};

// Of the calling thread, or of the whole process where kernels use more threads.
std::unique_ptr<Probe> NewSystemProbe(int threads);

// Time by a clock; never contaminated.
std::unique_ptr<Probe> NewClockProbe(const Clock* clock);

// One sample, from its construction to Stop().
class Stopwatch {
 public:
  explicit Stopwatch(Probe& probe);
  struct Reading {
    double us = 0;       // wall time if clean, else CPU time where there is one
    bool clean = false;  // not contaminated
  };
  Reading Stop() const;

 private:
  Probe& probe_;
  const int64_t switches_;
  const int64_t waited_ns_;
  const std::optional<int64_t> cpu_ns_;
  const int64_t start_ns_;  // last: read last
};

}  // namespace quotient::timing
