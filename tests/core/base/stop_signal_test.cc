#include "core/base/stop_signal.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/base/clock.h"

namespace quotient {
namespace {

TEST(StopSignalTest, WaitsForSoLongWithoutIt) {
  StopSignal signal;
  const int64_t start_ns = Clock::System().NowNs();
  EXPECT_FALSE(signal.AwaitFor(absl::Milliseconds(2)));
  EXPECT_GE(Clock::System().NowNs() - start_ns, 2'000'000);
  EXPECT_FALSE(signal.AwaitFor(absl::ZeroDuration()));
  EXPECT_FALSE(signal.AwaitFor(absl::Nanoseconds(-1)));
}

TEST(StopSignalTest, EndsEachWaitAndStays) {
  StopSignal signal;
  EXPECT_FALSE(signal.is_set());
  std::atomic<int> ended = 0;
  {
    std::jthread first([&] { ended += signal.AwaitFor(absl::InfiniteDuration()) ? 1 : 0; });
    std::jthread second([&] { ended += signal.AwaitFor(absl::InfiniteDuration()) ? 1 : 0; });
    signal.Set();
  }
  EXPECT_EQ(ended, 2);
  EXPECT_TRUE(signal.is_set());
  EXPECT_TRUE(signal.AwaitFor(absl::InfiniteDuration()));
}

}  // namespace
}  // namespace quotient
