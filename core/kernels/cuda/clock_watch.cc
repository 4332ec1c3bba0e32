#include "core/kernels/cuda/clock_watch.h"

#include <algorithm>
#include <cmath>

#include "core/base/clock.h"

namespace quotient::kernels::cuda {
namespace {

// Clocks that differ by less than this fraction count as equal.
constexpr double kSame = 0.05;

// The fraction of the highest clock above which a GPU is awake. An idle GPU runs at a fifth of its
// highest clock, a computing one at more than half, whatever its power limit.
constexpr double kAwake = 0.5;

// A GPU that keeps a low clock for so many looks has been locked to it.
constexpr int kLocked = 40;

}  // namespace

GpuClock::Look GpuClock::At(int64_t now_ns) {
  const absl::MutexLock lock(&mutex_);
  if (!asked_ns_.has_value() || now_ns - *asked_ns_ >= kIntervalNs) {
    const int mhz = gpu_.ClockMhz();
    const bool is_same = std::abs(mhz - mhz_) <= kSame * mhz_;
    looks_at_this_clock_ = is_same ? looks_at_this_clock_ + 1 : 1;
    mhz_ = mhz;
    asked_ns_ = now_ns;
  }
  const double highest_mhz = gpu_.facts().max_clock_khz / 1000.0;
  return {mhz_, mhz_ == 0 || mhz_ >= kAwake * highest_mhz || looks_at_this_clock_ >= kLocked};
}

DeviceReading ClockWatch::Judge(const Reading& reading) {
  const GpuClock::Look look = clock_.At(Clock::System().NowNs());
  fastest_mhz_ = std::max(fastest_mhz_, look.mhz);
  return {reading.us, look.is_awake && look.mhz >= (1 - kSame) * fastest_mhz_};
}

}  // namespace quotient::kernels::cuda
