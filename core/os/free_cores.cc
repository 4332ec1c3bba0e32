#include "core/os/free_cores.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/clock.h"

namespace quotient::os {
namespace {

// Other work takes a core for some milliseconds at a time.
constexpr int64_t kSliceNs = 10'000'000;
constexpr int kSlices = 9;
// A thread that computes in less of a slice lacked a core.
constexpr double kOwnShare = 0.95;

// Whether the thread had a core to itself, by slice.
using Slices = std::array<bool, kSlices>;

int64_t CpuNsOfThread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Computes until `end_ns`, and returns for how long.
int64_t ComputeUntil(int64_t end_ns) {
  const int64_t start_cpu_ns = CpuNsOfThread();
  while (Clock::System().NowNs() < end_ns) {
  }
  return CpuNsOfThread() - start_cpu_ns;
}

void Compute(int64_t start_ns, Slices* had_core) {
  int64_t slice_ns = Clock::System().NowNs();
  for (int i = 0; i < kSlices; ++i) {
    const int64_t end_ns = start_ns + (i + 1) * kSliceNs;
    const int64_t computed_ns = ComputeUntil(end_ns);
    const int64_t now_ns = Clock::System().NowNs();
    (*had_core)[i] = static_cast<double>(computed_ns) >=
                     kOwnShare * static_cast<double>(std::max(now_ns, end_ns) - slice_ns);
    slice_ns = now_ns;
  }
}

}  // namespace

bool HasFreeCores(int threads) {
  std::vector<Slices> had_core(threads);
  const int64_t start_ns = Clock::System().NowNs();
  try {
    std::vector<std::jthread> computing;
    for (Slices& slices : had_core) computing.emplace_back(Compute, start_ns, &slices);
  } catch (const std::system_error&) {
    return false;  // There are no threads to be had.
  }
  int free = 0;
  for (int i = 0; i < kSlices; ++i) {
    free += std::ranges::all_of(had_core, [i](const Slices& slices) { return slices[i]; });
  }
  return 2 * free > kSlices;
}

}  // namespace quotient::os
