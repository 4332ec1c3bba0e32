#include "tests/support/clock_set_back.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "core/base/clock.h"

namespace quotient::testing {
namespace {

constexpr int kSeconds = 60;

std::atomic<int> seconds_ahead = 0;

}  // namespace

bool IgnoresClockSetBack(absl::FunctionRef<void()> wait) {
  const int64_t start_ns = Clock::System().NowNs();
  seconds_ahead = kSeconds;
  wait();
  seconds_ahead = 0;
  return Clock::System().SecondsSince(start_ns) < 0.5 * kSeconds;
}

}  // namespace quotient::testing

// Those of the C library are replaced by these in all of the program, its shared libraries
// included.
extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME) time->tv_sec += quotient::testing::seconds_ahead;
  return result;
}

int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  timespec now{};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return result;
}

}  // extern "C"
