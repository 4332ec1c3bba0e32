// Interval arithmetic against arithmetic on numbers: what two numbers of two intervals give lies in
// the interval that the two give.

#include "core/ops/interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/base/rng.h"

namespace quotient::ops {
namespace {

using model::DType;

constexpr double kInfinity = Interval::kInfinity;
constexpr double kNumbers[] = {-kInfinity, -1e300, -3, -1, -0.5,  -0.0,     0.0,
                               1e-300,     0.5,    1,  2,  1e300, kInfinity};

struct Sample {
  Interval interval;
  std::vector<double> numbers;  // All of kNumbers that it contains, and NaN if it may be.
};

Sample Draw(Rng& rng) {
  const double a = kNumbers[rng.Below(std::size(kNumbers))];
  const double b = kNumbers[rng.Below(std::size(kNumbers))];
  Sample sample{{std::min(a, b), std::max(a, b), rng.Below(4) == 0}, {}};
  for (const double number : kNumbers) {
    if (sample.interval.contains(number)) sample.numbers.push_back(number);
  }
  if (sample.interval.may_be_nan) sample.numbers.push_back(NAN);
  return sample;
}

bool Holds(const Interval& interval, double number) {
  return std::isnan(number) ? interval.may_be_nan : interval.contains(number);
}

using OnIntervals = std::function<Interval(const Interval&, const Interval&)>;
using OnNumbers = std::function<double(double, double)>;

TEST(Interval, ArithmeticHoldsForAllNumbers) {
  const std::pair<OnIntervals, OnNumbers> operations[] = {
      {Sum, [](double a, double b) { return a + b; }},
      {Product, [](double a, double b) { return a * b; }},
      {Quotient, [](double a, double b) { return a / b; }},
      {Hull, [](double a, double) { return a; }},
      {Hull, [](double, double b) { return b; }},
      {[](const Interval& a, const Interval&) { return Negative(a); },
       [](double a, double) { return -a; }},
      {[](const Interval& a, const Interval&) { return Absolute(a); },
       [](double a, double) { return std::fabs(a); }},
      {[](const Interval& a, const Interval&) { return Clamped(a, -1, 2); },
       [](double a, double) { return a < -1  ? -1
                                     : a > 2 ? 2
                                             : a; }},
  };
  Rng rng(3);
  for (int draw = 0; draw < 2000; ++draw) {
    const Sample a = Draw(rng), b = Draw(rng);
    for (size_t i = 0; i < std::size(operations); ++i) {
      const Interval result = operations[i].first(a.interval, b.interval);
      for (const double x : a.numbers) {
        for (const double y : b.numbers) {
          const double number = operations[i].second(x, y);
          ASSERT_TRUE(Holds(result, number))
              << "operation " << i << " of " << x << " and " << y << " is " << number
              << ", not in [" << result.low << ", " << result.high << "]";
        }
      }
    }
  }
}

TEST(Interval, AnIntersectionHasWhatBothHave) {
  Rng rng(4);
  for (int draw = 0; draw < 2000; ++draw) {
    const Sample a = Draw(rng), b = Draw(rng);
    const Interval both = Intersection(a.interval, b.interval);
    for (const double number : a.numbers) {
      if (!Holds(b.interval, number)) continue;
      EXPECT_TRUE(Holds(both, number)) << number;
    }
  }
  const Interval positive{1, 2, false}, negative{-2, -1, false};
  EXPECT_EQ(Intersection(positive, negative), positive) << "they contradict each other";
}

// A bound that the type does not hold is rounded outwards. Beyond the largest number of the type it
// becomes infinite.
TEST(Interval, ATypeRoundsOutwards) {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
    const Interval third = InType(dtype, {-1.0 / 3, 1.0 / 3, false});
    EXPECT_LE(third.low, -1.0 / 3 * (1 - EpsilonOf(dtype)));
    EXPECT_NEAR(third.high, 1.0 / 3, EpsilonOf(dtype));
    EXPECT_EQ(InType(dtype, {0, 2 * LargestOf(dtype), false}).high, kInfinity);
    EXPECT_EQ(InType(dtype, {SmallestNormalOf(dtype) / 2, 1, false}).low, 0)
        << "devices may flush what is smaller than normal numbers";
    EXPECT_TRUE(InType(dtype, {0, 1, true}).may_be_nan);
  }
}

TEST(Interval, IntegersThatLeaveTheirTypeWrap) {
  EXPECT_EQ(InType(DType::kInt8, {-128, 127, false}), (Interval{-128, 127, false}));
  EXPECT_EQ(InType(DType::kInt8, {0, 128, false}), AnythingOf(DType::kInt8));
  EXPECT_EQ(InType(DType::kUint8, {-1, 1, false}), AnythingOf(DType::kUint8));
}

// The sum of up to n numbers of the interval, in any order.
TEST(Interval, ASumHoldsForAnyNumberOfTerms) {
  const Interval x{-1, 3, false};
  const Interval sum = SumOf(DType::kFloat32, x, 100);
  EXPECT_LE(sum.low, -100);
  EXPECT_GE(sum.high, 300);
  EXPECT_GE(SumOf(DType::kFloat32, {1, 3, false}, 100).low, 0) << "no term at all";
  EXPECT_FALSE(SumOf(DType::kFloat16, {0, 60000, false}, 2).finite()) << "it may overflow";
  EXPECT_FALSE(SumOf(DType::kFloat32, {0, 1, true}, 2).finite());
}

}  // namespace
}  // namespace quotient::ops
