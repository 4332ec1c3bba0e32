#include "core/kernels/cuda/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/rng.h"

namespace quotient::kernels::cuda {
namespace {

using ::testing::ElementsAre;

Access Touches(std::vector<Interval> reads, Interval written) {
  return {std::move(reads), {written}};
}

// a -> b, c -> d: a diamond.
const std::vector<Access> kDiamond = {Touches({}, {0, 10}), Touches({{0, 10}}, {10, 20}),
                                      Touches({{0, 10}}, {20, 30}),
                                      Touches({{10, 20}, {20, 30}}, {30, 40})};

TEST(LanesTest, BranchesGetLanesOfTheirOwn) {
  const std::vector<LaneStep> steps = AssignLanes(kDiamond, 2);
  EXPECT_EQ(steps[0].lane, steps[1].lane);
  EXPECT_NE(steps[1].lane, steps[2].lane);
  EXPECT_THAT(steps[2].after, ElementsAre(0));
  EXPECT_EQ(steps[3].lane, steps[2].lane);
  EXPECT_THAT(steps[3].after, ElementsAre(1));
}

TEST(LanesTest, OneLaneNeedsNoWaiting) {
  for (const LaneStep& step : AssignLanes(kDiamond, 1)) {
    EXPECT_EQ(step.lane, 0);
    EXPECT_TRUE(step.after.empty());
  }
}

TEST(LanesTest, MemoryThatIsUsedAgainIsWaitedFor) {
  // The third step writes where the second one reads.
  const std::vector<LaneStep> steps = AssignLanes(
      std::vector<Access>{Touches({}, {0, 10}), Touches({{0, 10}}, {10, 20}), Touches({}, {5, 8})},
      3);
  EXPECT_EQ(steps[2].lane, steps[1].lane);
}

// What an order has to keep is kept: every conflict is ordered by lanes and waits.
TEST(LanesTest, ConflictsAreOrdered) {
  Rng rng(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Access> accesses;
    const auto interval = [&] {
      const uint64_t begin = rng.Below(40);
      return Interval{begin, begin + 1 + rng.Below(8)};
    };
    for (uint64_t i = 0; i < 3 + rng.Below(12); ++i) {
      accesses.push_back(Touches({interval(), interval()}, interval()));
    }
    const std::vector<LaneStep> steps = AssignLanes(accesses, 1 + static_cast<int>(rng.Below(4)));
    const size_t count = steps.size();
    std::vector<std::vector<bool>> before(count, std::vector<bool>(count, false));
    for (size_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < i; ++k) {
        const bool direct =
            steps[k].lane == steps[i].lane ||
            std::count(steps[i].after.begin(), steps[i].after.end(), static_cast<int>(k)) > 0;
        if (!direct) continue;
        before[k][i] = true;
        for (size_t j = 0; j < k; ++j) before[j][i] = before[j][i] || before[j][k];
      }
      for (size_t k = 0; k < i; ++k) {
        const auto overlap = [](const std::vector<Interval>& a, const std::vector<Interval>& b) {
          for (const Interval& x : a) {
            for (const Interval& y : b) {
              if (std::max(x.begin, y.begin) < std::min(x.end, y.end)) return true;
            }
          }
          return false;
        };
        const Access &early = accesses[k], &late = accesses[i];
        if (overlap(early.writes, late.reads) || overlap(early.writes, late.writes) ||
            overlap(early.reads, late.writes)) {
          EXPECT_TRUE(before[k][i]) << k << " before " << i << " in trial " << trial;
        }
      }
    }
  }
}

}  // namespace
}  // namespace quotient::kernels::cuda
