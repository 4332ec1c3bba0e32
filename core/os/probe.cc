#include "core/os/probe.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>

#include "core/os/run_queue_wait.h"

namespace quotient::os {
namespace {

// Which part of a sample its threads may be without a core.
constexpr int64_t kPreempted = 50;
constexpr int64_t kWoken = 20;

class SystemProbe : public Probe {
 public:
  explicit SystemProbe(int threads) : who_(threads > 1 ? RUSAGE_SELF : RUSAGE_THREAD) {}

  int64_t NowNs() override { return Clock::System().NowNs(); }
  int64_t InvoluntarySwitches() override {
    rusage usage;
    return getrusage(who_, &usage) == 0 ? usage.ru_nivcsw : 0;
  }
  // One thread alone never sleeps in a sample, so what is missing from its CPU time tells as much.
  int64_t WaitedNs() override { return who_ == RUSAGE_SELF ? waited_.TotalNs() : 0; }
  bool IsAnyWaiting() override { return who_ == RUSAGE_SELF && waited_.IsAnyWaiting(); }
  std::optional<int64_t> CpuNs() override {
    timespec time;
    if (who_ != RUSAGE_THREAD || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) {
      return std::nullopt;
    }
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

 private:
  const decltype(RUSAGE_SELF) who_;
  RunQueueWait waited_;
};

}  // namespace

std::unique_ptr<Probe> NewSystemProbe(int threads) {
  return std::make_unique<SystemProbe>(threads);
}

Stopwatch::Stopwatch(Probe& probe)
    : probe_(probe),
      switches_(probe.InvoluntarySwitches()),
      waited_ns_(probe.WaitedNs()),
      cpu_ns_(probe.CpuNs()),
      start_ns_(probe.NowNs()) {}

Stopwatch::Reading Stopwatch::Stop() const {
  const int64_t wall_ns = probe_.NowNs() - start_ns_;
  const std::optional<int64_t> cpu_ns = probe_.CpuNs();
  const int64_t waited_ns = probe_.WaitedNs() - waited_ns_;  // Negative if a thread has ended.
  const bool has_cpu = cpu_ns.has_value() && cpu_ns_.has_value();
  const int64_t used_ns = has_cpu ? *cpu_ns - *cpu_ns_ : wall_ns;
  const bool was_preempted = probe_.InvoluntarySwitches() != switches_;
  const int64_t without_core_ns = std::max(waited_ns, was_preempted ? wall_ns - used_ns : 0);
  const bool clean = waited_ns >= 0 &&
                     without_core_ns <= wall_ns / (was_preempted ? kPreempted : kWoken) &&
                     !probe_.IsAnyWaiting();
  return {.us = static_cast<double>(clean ? wall_ns : used_ns) * 1e-3,
          .clean = clean,
          .wall_us = static_cast<double>(wall_ns) * 1e-3};
}

}  // namespace quotient::os
