#include "core/timing/statistics.h"

#include <gtest/gtest.h>

#include "core/base/rng.h"

namespace quotient::timing {
namespace {

TEST(StatisticsTest, QuantilesInterpolate) {
  EXPECT_DOUBLE_EQ(Quantile({3, 1, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile({3, 1, 2}, 1), 3);
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 3, 4, 5}, 0.25), 2);
  EXPECT_DOUBLE_EQ(Quantile({7}, 0.9), 7);
  EXPECT_DOUBLE_EQ(Median({5, 1, 9}), 5);
}

TEST(StatisticsTest, BootstrapIntervalHoldsTheTruthAboutAsOftenAsItSays) {
  Rng rng(3);
  int held = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples;
    for (int i = 0; i < 25; ++i) samples.push_back(rng.Uniform(0, 2));  // median 1
    const Interval interval = BootstrapMedian(samples, 0.9, 7);
    held += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
  }
  EXPECT_GE(held, kTrials * 82 / 100);
  EXPECT_LE(held, kTrials * 98 / 100);
}

TEST(StatisticsTest, BootstrapIsDeterministicAndExactForConstants) {
  const std::vector<double> samples{1, 2, 3, 4, 5, 6};
  const Interval a = BootstrapMedian(samples, 0.95, 1), b = BootstrapMedian(samples, 0.95, 1);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  const Interval constant = BootstrapMedian({2, 2, 2}, 0.95, 1);
  EXPECT_EQ(constant.low, 2);
  EXPECT_EQ(constant.high, 2);
}

}  // namespace
}  // namespace quotient::timing
