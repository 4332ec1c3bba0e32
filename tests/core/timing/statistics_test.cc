#include "core/timing/statistics.h"

#include <gtest/gtest.h>

#include <vector>

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

TEST(StatisticsTest, TheIntervalOfAMedianIsBetweenTwoValues) {
  const Interval interval = MedianInterval({16, 3, 5, 7, 9, 2, 4, 6, 8, 10, 11, 1, 12, 13, 14, 15},
                                           /*confidence=*/0.99);
  EXPECT_EQ(interval.low, 3) << "1 - 2 (1 + 16 + 120) / 2^16 = 0.996 are between the third ones";
  EXPECT_EQ(interval.high, 14);
}

TEST(StatisticsTest, FewValuesAreBetweenTheFirstAndTheLast) {
  const Interval interval = MedianInterval({3, 1, 2, 9}, 0.99);
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 9);
}

TEST(StatisticsTest, TheIntervalOfAMedianHoldsItAboutAsOftenAsItSays) {
  Rng rng(3);
  int held = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    // One value in five is far off, to either side.
    for (int i = 0; i < 40; ++i) {
      values.push_back(rng.Uniform(-1, 1) * (rng.Uniform(0, 1) < 0.2 ? 20 : 1));
    }
    const Interval interval = MedianInterval(values, 0.9);
    held += interval.low <= 0 && 0 <= interval.high ? 1 : 0;
  }
  EXPECT_GE(held, kTrials * 85 / 100);
  EXPECT_LE(held, kTrials * 97 / 100);
}

}  // namespace
}  // namespace quotient::timing
