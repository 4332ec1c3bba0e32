// Which constants rules may add and multiply in another order, at the bounds that the README of
// core/rules derives.

#include "core/rules/magnitudes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace quotient::rules {
namespace {

using domain::ClassData;
using model::DType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A class with a known value.
ClassData Constant(const std::vector<double>& values, DType dtype = DType::kFloat32) {
  std::span<std::byte> bytes;
  const model::Tensor tensor =
      model::Tensor::Allocate(dtype, {static_cast<int64_t>(values.size())}, &bytes);
  model::Store(dtype, bytes, 0, std::span<const double>(values));
  ClassData data;
  data.type = tensor.type();
  data.constant = tensor;
  data.constant_sizes = domain::SizesOfConstant(tensor);
  data.facts = domain::FactsOfConstant(tensor);
  return data;
}

// A class of which only bounds are known.
ClassData Bounded(double low, double high, DType dtype = DType::kFloat32) {
  ClassData data;
  data.type = model::TensorType(dtype, {4});
  data.facts.values = {low, high, false};
  return data;
}

TEST(SizesOf, AConstantIsReadElementByElement) {
  const Sizes sizes = SizesOf(Constant({-8, 0, 0.25, 2}));
  EXPECT_EQ(sizes.largest, 8);
  EXPECT_EQ(sizes.smallest, 0.25) << "the smallest that is not zero";
  EXPECT_EQ(SizesOf(Constant({0, 0})).largest, 0);
}

TEST(SizesOf, NanAndInfinityHaveNoBound) {
  EXPECT_EQ(SizesOf(Constant({1, NAN})).largest, kInfinity);
  EXPECT_EQ(SizesOf(Constant({1, NAN})).smallest, 0);
  EXPECT_EQ(SizesOf(Constant({1, -kInfinity})).largest, kInfinity);
  EXPECT_EQ(SizesOf(Bounded(-kInfinity, 1)).largest, kInfinity);
}

TEST(SizesOf, BoundsSayLess) {
  EXPECT_EQ(SizesOf(Bounded(2, 8)).largest, 8);
  EXPECT_EQ(SizesOf(Bounded(2, 8)).smallest, 2);
  EXPECT_EQ(SizesOf(Bounded(-8, -2)).largest, 8);
  EXPECT_EQ(SizesOf(Bounded(-8, -2)).smallest, 2);
  EXPECT_EQ(SizesOf(Bounded(-2, 8)).smallest, 0);
}

TEST(IsShift, GoesUpToTheBoundOfItsType) {
  const std::pair<DType, double> bounds[] = {{DType::kFloat16, 0x1p4},
                                             {DType::kBfloat16, 0x1p1},
                                             {DType::kFloat32, 0x1p10},
                                             {DType::kFloat64, 0x1p20}};
  for (const auto& [dtype, bound] : bounds) {
    EXPECT_TRUE(IsShift(Constant({0, -bound}, dtype)));
    EXPECT_FALSE(IsShift(Constant({0, -bound * 1.5}, dtype)));
  }
  EXPECT_FALSE(IsShift(Constant({1}, DType::kInt64))) << "integers have no rounding";
  EXPECT_FALSE(IsShift(Constant({NAN})));
}

TEST(MayBeSummed, RefusesWhatCancels) {
  EXPECT_TRUE(MayBeSummed(Constant({1, 2}), Constant({3, 4})));
  EXPECT_TRUE(MayBeSummed(Constant({1, 2}), Constant({-0.5, -0.5})));
  EXPECT_FALSE(MayBeSummed(Constant({1, 2}), Constant({-1, -2})));
  EXPECT_FALSE(MayBeSummed(Constant({5, 5}), Constant({-5}))) << "one number for all elements";
  EXPECT_TRUE(MayBeSummed(Constant({5, 7}), Constant({-5})));
  EXPECT_FALSE(MayBeSummed(Constant({2000}), Constant({1}))) << "not a shift";
  EXPECT_TRUE(MayBeSummed(Bounded(-1, 1), Bounded(-1, 1))) << "values are not known";
}

TEST(IsFactor, IsZeroOrNeitherLargeNorSmall) {
  EXPECT_TRUE(IsFactor(Constant({0, 1, -0x1p32, 0x1p-32})));
  EXPECT_FALSE(IsFactor(Constant({0x1p33})));
  EXPECT_FALSE(IsFactor(Constant({0x1p-33})));
  EXPECT_FALSE(IsFactor(Constant({kInfinity})));
  EXPECT_FALSE(IsFactor(Constant({2}, DType::kInt32)));
  EXPECT_TRUE(IsFactor(Constant({0x1p256, 0x1p-256}, DType::kFloat64)));
  EXPECT_FALSE(IsFactor(Constant({0x1p257}, DType::kFloat64)));
}

TEST(IsFactor, Float16HasLittleRangeBelow) {
  EXPECT_TRUE(IsFactor(Constant({0x1p8, 0x1p-8, 0}, DType::kFloat16)));
  EXPECT_FALSE(IsFactor(Constant({0x1p9}, DType::kFloat16)));
  EXPECT_FALSE(IsFactor(Bounded(-1, 1, DType::kFloat16))) << "it may be any size below 1";
  EXPECT_TRUE(IsFactor(Bounded(-1, 1)));
}

TEST(IsEarlyFactor, DoesNotEnlargeInFloat16) {
  EXPECT_TRUE(IsEarlyFactor(Constant({1, 0.5}, DType::kFloat16)));
  EXPECT_FALSE(IsEarlyFactor(Constant({2}, DType::kFloat16)));
  EXPECT_TRUE(IsEarlyFactor(Constant({2})));
  EXPECT_FALSE(IsEarlyFactor(Constant({0x1p33})));
}

TEST(IsNearOne, IsNeitherZeroNorFar) {
  EXPECT_TRUE(IsNearOne(Constant({-0x1p8, 0x1p-8})));
  EXPECT_FALSE(IsNearOne(Constant({0x1p9})));
  EXPECT_FALSE(IsNearOne(Constant({0x1p-9})));
  EXPECT_FALSE(IsNearOne(Constant({0})));
  EXPECT_FALSE(IsNearOne(Bounded(-1, 1)));
  EXPECT_TRUE(IsNearOne(Bounded(1, 2)));
}

TEST(IsInvertible, HasNormalReciprocals) {
  EXPECT_TRUE(IsInvertible(Constant({1e29, -1e-29})));
  EXPECT_FALSE(IsInvertible(Constant({1, 0})));
  EXPECT_FALSE(IsInvertible(Constant({1e31})));
  EXPECT_FALSE(IsInvertible(Constant({1e-31})));
  EXPECT_FALSE(IsInvertible(Constant({NAN})));
  EXPECT_FALSE(IsInvertible(Constant({2000}, DType::kFloat16)));
  EXPECT_FALSE(IsInvertible(Bounded(1, 2))) << "values are not known";
}

TEST(IsNormalizable, DividesByTheRootOfWhatIsNotZero) {
  const ClassData ones = Constant({1, 1}), tiny = Constant({1e-30, 1e-30});
  EXPECT_TRUE(IsNormalizable(ones, ones, ones, 1e-5));
  EXPECT_TRUE(IsNormalizable(ones, ones, Constant({0, 1}), 1e-5)) << "epsilon is added";
  EXPECT_FALSE(IsNormalizable(ones, ones, Constant({0, 1}), 0));
  EXPECT_FALSE(IsNormalizable(ones, ones, Constant({-1, 1}), 1e-5));
  EXPECT_TRUE(IsNormalizable(ones, ones, tiny, 1e-5));
  EXPECT_FALSE(IsNormalizable(ones, ones, tiny, 0)) << "1e15 is no factor";
  EXPECT_FALSE(IsNormalizable(Constant({1e12}), ones, ones, 1e-5));
  EXPECT_FALSE(IsNormalizable(ones, Constant({3e38}), Constant({1e-4}), 0)) << "mean / 0.01";
}

}  // namespace
}  // namespace quotient::rules
