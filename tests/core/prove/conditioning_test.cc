#include "core/prove/conditioning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <vector>

namespace quotient::prove {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

model::Tensor Doubles(const std::vector<double>& elements) {
  return model::Tensor::Of(model::DType::kFloat64, {static_cast<int64_t>(elements.size())},
                           std::span<const double>(elements));
}

TEST(ConditionedError, IsRelativeToEachElement) {
  EXPECT_DOUBLE_EQ(ConditionedError(Doubles({4, 1000}), Doubles({5, 1000}), {}), 0.25);
  EXPECT_EQ(ConditionedError(Doubles({4, kNan, kInfinity}), Doubles({4, kNan, kInfinity}), {}), 0);
}

TEST(ConditionedError, IsRelativeToTheSensitivityWhereThatIsLarger) {
  EXPECT_DOUBLE_EQ(ConditionedError(Doubles({4, 1}), Doubles({5, 1}), {10, 0}), 0.1);
  EXPECT_DOUBLE_EQ(ConditionedError(Doubles({4, 1}), Doubles({5, 1}), {1, 100}), 0.25);
}

TEST(ConditionedError, WhatDoubleDoesNotResolveIsNoError) {
  EXPECT_LT(ConditionedError(Doubles({1e-17, 1}), Doubles({0, 1}), {}), 1e-16);
  EXPECT_GT(ConditionedError(Doubles({1e-12, 1}), Doubles({0, 1}), {}), 0.5);
}

TEST(ConditionedError, InfinitiesAndNanAreNoRounding) {
  EXPECT_EQ(ConditionedError(Doubles({1}), Doubles({kNan}), {}), kInfinity);
  EXPECT_EQ(ConditionedError(Doubles({kInfinity}), Doubles({1e300}), {}), kInfinity);
  EXPECT_EQ(ConditionedError(Doubles({1}), Doubles({1, 1}), {}), kInfinity);
  EXPECT_EQ(ConditionedError(Doubles({1}), Doubles({kNan}), {kInfinity}), 0) << "at a jump";
}

TEST(Perturbed, ChangesWhatIsNoInteger) {
  Rng rng(1);
  const std::vector<double> perturbed = Perturbed(Doubles({0.5, 3, kInfinity}), rng).AsDoubles();
  EXPECT_NE(perturbed[0], 0.5);
  EXPECT_NEAR(perturbed[0], 0.5, 1e-9);
  EXPECT_EQ(perturbed[1], 3);
  EXPECT_EQ(perturbed[2], kInfinity);
}

TEST(NoteSensitivity, IsTheChangeOfAnElementByARelativeChange) {
  Sensitivity sensitivity;
  NoteSensitivity(Doubles({1, 1, 1}), Doubles({1, 1 + 0x1p-30, kNan}), sensitivity);
  EXPECT_THAT(sensitivity, ElementsAre(0, 1, kInfinity));
  NoteSensitivity(Doubles({1, 1, 1}), Doubles({1 + 0x1p-28, 1, 1}), sensitivity);
  EXPECT_THAT(sensitivity, ElementsAre(4, 1, kInfinity));
}

TEST(NoteSensitivity, AnIntegerJumps) {
  const std::vector<int64_t> before = {1, 2};
  const std::vector<int64_t> after = {1, 3};
  Sensitivity sensitivity;
  NoteSensitivity(model::Tensor::Ints({2}, before), model::Tensor::Ints({2}, after), sensitivity);
  EXPECT_THAT(sensitivity, ElementsAre(0, kInfinity));
}

TEST(JoinSensitivity, KeepsTheLarger) {
  Sensitivity sensitivity;
  JoinSensitivity({}, sensitivity);
  EXPECT_THAT(sensitivity, IsEmpty());
  JoinSensitivity({1, 4}, sensitivity);
  JoinSensitivity({3, 2}, sensitivity);
  EXPECT_THAT(sensitivity, ElementsAre(3, 4));
}

}  // namespace
}  // namespace quotient::prove
