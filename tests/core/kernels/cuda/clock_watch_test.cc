// Which readings count, by a clock that the test sets.

#include "core/kernels/cuda/clock_watch.h"

#include <gtest/gtest.h>

#include "tests/support/cuda/forwarding_gpu.h"

namespace quotient::kernels::cuda {
namespace {

class ClockedGpu : public ForwardingGpu {
 public:
  ClockedGpu() : facts_(ForwardingGpu::facts()) { facts_.max_clock_khz = 1'980'000; }
  const GpuFacts& facts() const override { return facts_; }
  int ClockMhz() override {
    ++asked;
    return mhz;
  }

  int mhz = 1980;
  int asked = 0;

 private:
  GpuFacts facts_;
};

constexpr int64_t kStartNs = 1'000'000'000;

TEST(GpuClockTest, IsAskedSeldom) {
  ClockedGpu gpu;
  GpuClock clock(&gpu);
  for (int64_t us = 0; us < 20'000; us += 10) clock.At(kStartNs + 1000 * us);
  EXPECT_EQ(gpu.asked, 4);
}

TEST(GpuClockTest, AGpuThatIdlesIsNotAwake) {
  ClockedGpu gpu;
  GpuClock clock(&gpu);
  gpu.mhz = 345;
  EXPECT_FALSE(clock.At(kStartNs).is_awake);
  gpu.mhz = 1755;
  EXPECT_FALSE(clock.At(kStartNs + 1'000'000).is_awake);  // not asked again
  EXPECT_TRUE(clock.At(kStartNs + GpuClock::kIntervalNs).is_awake);
  gpu.mhz = 345;
  EXPECT_FALSE(clock.At(kStartNs + 2 * GpuClock::kIntervalNs).is_awake);
}

TEST(GpuClockTest, AClockThatStaysLowIsTheOneThereIs) {
  ClockedGpu gpu;
  GpuClock clock(&gpu);
  gpu.mhz = 600;
  int looks = 1;
  while (!clock.At(kStartNs + looks * GpuClock::kIntervalNs).is_awake && looks < 1000) ++looks;
  EXPECT_GT(looks, 20);
  EXPECT_LT(looks, 200);
}

TEST(ClockWatchTest, AFirstReadingAtAnIdleClockDoesNotCount) {
  ClockedGpu gpu;
  gpu.mhz = 345;
  GpuClock clock(&gpu);
  ClockWatch watch(&clock);
  EXPECT_FALSE(watch.Judge(Reading{.us = 1}).clean);
}

TEST(ClockWatchTest, WhereNobodyTellsTheClockAllCount) {
  ClockedGpu gpu;
  gpu.mhz = 0;
  GpuClock clock(&gpu);
  ClockWatch watch(&clock);
  EXPECT_TRUE(watch.Judge(Reading{.us = 1}).clean);
}

// How fast a GPU runs depends on what it runs: a kernel that never ran faster is not throttled.
TEST(ClockWatchTest, AKernelIsComparedWithItself) {
  ClockedGpu gpu;
  gpu.mhz = 1500;
  GpuClock clock(&gpu);
  ClockWatch watch(&clock);
  EXPECT_TRUE(watch.Judge(Reading{.us = 1}).clean);
}

}  // namespace
}  // namespace quotient::kernels::cuda
