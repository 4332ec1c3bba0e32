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
    std::vector<double> a, b;
    for (int i = 0; i < 40; ++i) {
      a.push_back(rng.Uniform(1, 2));
      b.push_back(2 * rng.Uniform(1, 2));
    }
    const Interval interval = BootstrapQuantileRatio(a, b, 0.25, 0.9, 7);
    held += interval.low <= 0.5 && 0.5 <= interval.high ? 1 : 0;
  }
  EXPECT_GE(held, kTrials * 82 / 100);
  EXPECT_LE(held, kTrials * 98 / 100);
}

TEST(StatisticsTest, BootstrapKeepsPairsTogether) {
  Rng rng(3);
  std::vector<double> a, b;
  for (int i = 0; i < 20; ++i) {
    b.push_back(rng.Uniform(1, 10));
    a.push_back(0.5 * b.back());
  }
  const Interval interval = BootstrapQuantileRatio(a, b, 0.25, 0.95, 1);
  EXPECT_DOUBLE_EQ(interval.low, 0.5);
  EXPECT_DOUBLE_EQ(interval.high, 0.5);
}

TEST(StatisticsTest, BootstrapIsDeterministic) {
  const std::vector<double> samples{1, 2, 3, 4, 5, 6}, others{2, 2, 3, 3, 4, 4};
  const Interval first = BootstrapQuantileRatio(samples, others, 0.5, 0.95, 1);
  const Interval second = BootstrapQuantileRatio(samples, others, 0.5, 0.95, 1);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
  EXPECT_LT(first.low, first.high);
}

}  // namespace
}  // namespace quotient::timing
