#include "core/base/stop_signal.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/base/clock.h"

namespace quotient {
namespace {

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;

TEST(StopSignalTest, WaitsForSoLongWithoutIt) {
  StopSignal signal;
  const int64_t start_ns = Clock::System().NowNs();
  EXPECT_FALSE(signal.AwaitFor(2'000'000));
  EXPECT_GE(Clock::System().NowNs() - start_ns, 2'000'000);
  EXPECT_FALSE(signal.AwaitFor(0));
  EXPECT_FALSE(signal.AwaitFor(-1));
}

TEST(StopSignalTest, EndsEachWaitAndStays) {
  StopSignal signal;
  std::atomic<int> ended = 0;
  {
    std::jthread first([&] { ended += signal.AwaitFor(kHourNs) ? 1 : 0; });
    std::jthread second([&] { ended += signal.AwaitFor(kHourNs) ? 1 : 0; });
    signal.Set();
  }
  EXPECT_EQ(ended, 2);
  EXPECT_TRUE(signal.AwaitFor(kHourNs));
}

}  // namespace
}  // namespace quotient
