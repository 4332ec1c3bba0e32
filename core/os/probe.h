#pragma once

// Probe: the clocks and counters of the operating system that a measurement reads. Tests replace it
// to decide how long things took.

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/clock.h"

namespace quotient::os {

class Probe {
 public:
  virtual ~Probe() = default;
  virtual int64_t NowNs() = 0;
  // Number of involuntary context switches of the measured threads so far.
  virtual int64_t InvoluntarySwitches() = 0;
  // Total time for which the measured threads have been ready to run but had no core, in waits that
  // have ended.
  virtual int64_t WaitedNs() = 0;
  // Whether one of them is ready to run at this moment but has no core.
  virtual bool IsAnyWaiting() = 0;
  // CPU time of the measured thread: how long a sample would have taken undisturbed, apart from
  // cache misses. Unset if kernels use several threads, because threads that spin while they wait
  // use CPU time, too.
  virtual std::optional<int64_t> CpuNs() = 0;
};

// Returns a probe of the calling thread if kernels use one thread, else of the whole process.
std::unique_ptr<Probe> NewSystemProbe(int threads);

// Measures one sample, from construction to Stop(). The sample is contaminated if its threads were
// without a core for more than a fiftieth of its length, although they wanted one, and at least
// one of them was preempted. If none was, a twentieth is allowed: threads that sleep take a moment
// to be woken. A single switch says little by itself, because a run of 100 ms always has some. A
// sample at whose end a thread still waits is contaminated, too: the others did its share.
class Stopwatch {
 public:
  explicit Stopwatch(Probe& probe);
  struct Reading {
    double us = 0;       // Wall time if clean, else CPU time if the probe has it.
    bool clean = false;  // Whether the sample is not contaminated.
    double wall_us = 0;
  };
  Reading Stop() const;

 private:
  Probe& probe_;
  const int64_t switches_;
  const int64_t waited_ns_;
  const std::optional<int64_t> cpu_ns_;
  const int64_t start_ns_;  // Declared last, so that the clock is read last.
};

}  // namespace quotient::os
