#include "core/report/cost_line.h"

#include <gtest/gtest.h>

namespace quotient::report {
namespace {

constexpr CostFrame kFrame = {.left = 10,
                              .top = 20,
                              .width = 300,
                              .height = 100,
                              .first_seconds = 0.01,
                              .last_seconds = 10,
                              .least_us = 50,
                              .most_us = 100};

TEST(CostFrameTest, TimeIsLogarithmicAndCostLinear) {
  EXPECT_DOUBLE_EQ(kFrame.X(0.01), 10);
  EXPECT_DOUBLE_EQ(kFrame.X(0.1), 110);
  EXPECT_DOUBLE_EQ(kFrame.X(10), 310);
  EXPECT_DOUBLE_EQ(kFrame.Y(100), 20);
  EXPECT_DOUBLE_EQ(kFrame.Y(75), 70);
  EXPECT_DOUBLE_EQ(kFrame.Y(50), 120);
}

TEST(CostFrameTest, WhatLiesOutsideIsOnTheEdge) {
  EXPECT_DOUBLE_EQ(kFrame.X(0), 10);
  EXPECT_DOUBLE_EQ(kFrame.X(1000), 310);
  EXPECT_DOUBLE_EQ(kFrame.Y(1000), 20);
  EXPECT_DOUBLE_EQ(kFrame.Y(0), 120);
}

TEST(CostLineTest, FallsInStepsUntilTheEnd) {
  const SearchStep steps[] = {{0.05, 0, 100}, {0.1, 3, 75}, {1, 9, 50}};
  EXPECT_EQ(CostLine(kFrame, steps, 5),
            "10.0,20.0 110.0,20.0 110.0,70.0 210.0,70.0 210.0,120.0 279.9,120.0");
}

TEST(CostLineTest, WithoutAnImprovementItIsLevel) {
  const SearchStep steps[] = {{0.05, 0, 75}};
  EXPECT_EQ(CostLine(kFrame, steps, 10), "10.0,70.0 310.0,70.0");
  EXPECT_EQ(CostLine(kFrame, {}, 10), "");
}

}  // namespace
}  // namespace quotient::report
