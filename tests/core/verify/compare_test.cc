#include "core/verify/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/checked.h"
#include "core/base/rng.h"
#include "core/model/text.h"
#include "core/verify/slices.h"

namespace quotient::verify {
namespace {

using model::Tensor;

Tensor Floats(std::vector<float> values) {
  return Tensor::Floats({static_cast<int64_t>(values.size())}, values);
}

constexpr double kTolerance = 1e-4;

double Error(const Tensor& original, const Tensor& other) {
  return Compare(original, other, kTolerance).relative_error;
}

TEST(CompareTest, RelativeToTheLargestValue) {
  const Difference difference = Compare(Floats({10, 0, -20}), Floats({10, 0.2f, -20}), kTolerance);
  EXPECT_NEAR(difference.relative_error, 0.01, 1e-8);
  EXPECT_EQ(difference.index, 1);
  EXPECT_EQ(Error(Floats({1, 2}), Floats({1, 2})), 0);
  EXPECT_NEAR(Error(Floats({0, 0}), Floats({0, 0.5f})), 0.5, 1e-9);
  EXPECT_NEAR(Error(Floats({4}).Reshaped({}), Floats({4.4f}).Reshaped({})), 0.1, 1e-6);
}

TEST(CompareTest, SpecialValuesMustAgree) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Error(Floats({nan, 1}), Floats({nan, 1})), 0);
  EXPECT_EQ(Error(Floats({inf, 1}), Floats({inf, 1})), 0);
  EXPECT_TRUE(std::isinf(Error(Floats({nan, 1}), Floats({0, 1}))));
  EXPECT_TRUE(std::isinf(Error(Floats({1, 1}), Floats({nan, 1}))));
  EXPECT_TRUE(std::isinf(Error(Floats({inf, 1}), Floats({-inf, 1}))));
}

// Devices may flush what is smaller than the smallest normal number, and multiply it then.
TEST(CompareTest, WhatLiesBesideTheSmallestNumbersIsNoDifference) {
  EXPECT_LT(Error(Floats({-1.8e-42f}), Floats({-1.9e-42f})), kTolerance);
  EXPECT_LT(Error(Floats({1e-37f}), Floats({0})), kTolerance);
  EXPECT_GT(Error(Floats({1e-30f}), Floats({0})), kTolerance);
  // Numbers of float16 are never that far from 1.
  const auto half = [](double value) {
    std::span<std::byte> bytes;
    const Tensor tensor = Tensor::Allocate(model::DType::kFloat16, {1}, &bytes);
    model::Store(model::DType::kFloat16, bytes, 0, std::span<const double>(&value, 1));
    return tensor;
  };
  EXPECT_GT(Error(half(1e-4), half(2e-4)), kTolerance);
}

TEST(CompareTest, OnlyFiniteElementsTellSomething) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(Compare(Floats({nan, 1}), Floats({nan, 1}), kTolerance).has_finite);
  EXPECT_TRUE(Compare(Floats({nan, 1}), Floats({nan, 1.5f}), kTolerance).has_finite);
  EXPECT_FALSE(Compare(Floats({nan, inf}), Floats({nan, inf}), kTolerance).has_finite);
  EXPECT_FALSE(Compare(Floats({nan, 1}), Floats({1, nan}), kTolerance).has_finite);
}

// The largest error, by looking at all slices of each element.
double SlowError(const Tensor& original, const Tensor& other) {
  const Slices slices(original.dims());
  std::vector<double> largest(slices.count());
  slices.ForEachElement([&](int64_t index, std::span<const int64_t> of_element) {
    for (int64_t slice : of_element) {
      double& of_slice = largest[static_cast<size_t>(slice)];
      of_slice = std::max(of_slice, std::abs(original.GetDouble(index)));
    }
  });
  double error = 0;
  slices.ForEachElement([&](int64_t index, std::span<const int64_t> of_element) {
    const double scale = std::max(Least(largest, of_element), 1e-3 * largest[0]);
    error = std::max(error, std::abs(original.GetDouble(index) - other.GetDouble(index)) / scale);
  });
  return error;
}

TEST(CompareTest, EachElementIsJudgedByTheSmallestOfItsSlices) {
  const std::vector<std::vector<int64_t>> shapes = {
      {}, {1}, {3}, {9000}, {3, 4}, {5, 5}, {2, 1, 7, 6}, {4, 3, 2}, {1, 8, 1}, {2, 2, 3000}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    Rng rng(i);
    std::vector<float> a(static_cast<size_t>(*CheckedProduct(shapes[i]))), b;
    for (float& value : a) value = static_cast<float>(std::pow(10, rng.Uniform(-3, 3)));
    for (const float value : a) b.push_back(value + static_cast<float>(rng.Uniform(-1e-3, 1e-3)));
    const Tensor original = Tensor::Floats(shapes[i], a), other = Tensor::Floats(shapes[i], b);
    EXPECT_EQ(Error(original, other), SlowError(original, other)) << "shape " << i;
  }
}

// Relative to the mask every difference would be small.
TEST(CompareTest, AMaskIsNoMeasureForTheOthers) {
  EXPECT_NEAR(Error(Floats({1, -3e38f}), Floats({2, -3e38f})), 1, 1e-9);
  EXPECT_NEAR(Error(Floats({1, -3e38f}), Floats({1, -1.5e38f})), 0.5, 1e-6);
  EXPECT_GT(Error(Floats({1, 1}), Floats({1, 3e38f})), 1e30);
}

TEST(CompareTest, IntegersAndTypesMustBeEqual) {
  const Tensor a = Tensor::Ints({2}, std::vector<int64_t>{1, 2});
  EXPECT_EQ(Error(a, a), 0);
  EXPECT_TRUE(std::isinf(Error(a, Tensor::Ints({2}, std::vector<int64_t>{1, 3}))));
  EXPECT_TRUE(std::isinf(Error(a, a.Reshaped({2, 1}))));
  EXPECT_TRUE(std::isinf(Error(a, Floats({1, 2}))));
}

// [1,rows,5]: boxes of up to 640 pixels, and a score of up to 1; `error` is in one score.
double ErrorInAScore(int64_t rows, float error, std::vector<int64_t> dims) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows; ++i) {
    values.insert(values.end(), {640.0f - i, 3.0f * i, 320, 5.0f * i, 1.0f / (1 + i)});
  }
  const Tensor original = Tensor::Floats(dims, values);
  values[4 + 5 * 2] += error;
  return Error(original, Tensor::Floats(std::move(dims), values));
}

TEST(CompareTest, ScoresBesideBoxesHaveAScaleOfTheirOwn) {
  EXPECT_GT(ErrorInAScore(40, 0.06f, {1, 40, 5}), 0.05);
  EXPECT_GT(ErrorInAScore(40, 0.06f, {40, 5}), 0.05);
  EXPECT_GT(ErrorInAScore(6, 0.06f, {1, 6, 5}), 0.05);
  EXPECT_LT(ErrorInAScore(40, 0.00005f, {1, 40, 5}), kTolerance);
}

// A channel that is zero throughout is judged beside the rest of the tensor, at a thousandth.
TEST(CompareTest, DeadChannelsAreJudgedBesideTheOthers) {
  std::vector<float> values(64, 0);
  for (size_t i = 32; i < 64; ++i) values[i] = 0.1f * static_cast<float>(i - 31);
  const Tensor original = Tensor::Floats({1, 2, 32}, values);
  values[3] = 1e-8f;
  EXPECT_LT(Error(original, Tensor::Floats({1, 2, 32}, values)), kTolerance);
  values[3] = 1e-5f;
  EXPECT_GT(Error(original, Tensor::Floats({1, 2, 32}, values)), kTolerance);
}

TEST(CompareTest, LogitsOfOneImageAreOneSlice) {
  std::vector<float> values(1000, 0.5f);
  values[7] = 20;
  const Tensor original = Tensor::Floats({1, 1000}, values);
  values[9] += 0.002f;
  EXPECT_NEAR(Error(original, Tensor::Floats({1, 1000}, values)), 0.0001, 1e-6);
}

TEST(CompareTest, WhatRoundingMovesIsForgivenUpToALimit) {
  const Tensor original = Floats({1, 1, 1, 1});
  const std::vector<float> deviation = {1e-4f, 1e-4f, 1e-4f, 1e-4f};
  const Conditioning conditioning{deviation};
  Difference difference = Compare(original, Floats({1.00025f, 1, 1, 1}), kTolerance, &conditioning);
  EXPECT_LT(difference.relative_error, kTolerance);
  EXPECT_EQ(difference.told, std::vector<bool>(4, true));
  EXPECT_FALSE(difference.has_doubts);
  difference = Compare(original, Floats({1.01f, 1, 1, 1}), kTolerance, &conditioning);
  EXPECT_GT(difference.relative_error, kTolerance);
  EXPECT_FALSE(difference.has_doubts);
}

TEST(CompareTest, WhatRoundingMovesFarIsInDoubt) {
  const Tensor original = Floats({1, 1, 1, 1});
  const std::vector<float> deviation = {0.5f, 0, 0, 0};
  const Conditioning conditioning{deviation};
  const Difference difference =
      Compare(original, Floats({1.5f, 1, 1, 1}), kTolerance, &conditioning);
  EXPECT_EQ(difference.relative_error, 0);
  EXPECT_EQ(difference.doubtful, (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(difference.told, (std::vector<bool>{false, true, true, true}));
  // Farther than rounding moves it.
  EXPECT_GT(Compare(original, Floats({9, 1, 1, 1}), kTolerance, &conditioning).relative_error, 1);
  // Another element.
  EXPECT_GT(Compare(original, Floats({1, 1.5f, 1, 1}), kTolerance, &conditioning).relative_error,
            0.1);
}

TEST(RelativeNormTest, TellsRoundingFromWrongResults) {
  EXPECT_NEAR(RelativeNorm(Floats({3, 4}), Floats({3, 4.5f})), 0.1, 1e-7);
  EXPECT_EQ(RelativeNorm(Floats({0, 0}), Floats({0, 0})), 0);
  EXPECT_NEAR(RelativeNorm(Floats({0, 0}), Floats({0, 0.5f})), 0.5, 1e-7);
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isinf(RelativeNorm(Floats({1, 1}), Floats({1, nan}))));
  EXPECT_TRUE(std::isinf(RelativeNorm(Floats({1, 1}), Floats({1}))));
  // What overflows in the original may not in a device's wider sums.
  EXPECT_EQ(RelativeNorm(Floats({1, inf}), Floats({1, 7})), 0);
}

constexpr char kSum[] = R"(graph g {
    input a: float32[2]
    y: float32[2] = Add(a, a)
    output y })";

TEST(ToleranceTest, TheNarrowestTypeDecides) {
  EXPECT_EQ(Tolerance(*model::ParseGraph(kSum)), 1e-4);
  EXPECT_EQ(Tolerance(*model::ParseGraph(
                "graph g { input x: float32[1] y: float16[1] = Cast(x) output y }")),
            1e-2);
}

TEST(ToleranceTest, AValueThatNothingUsesDoesNotWidenIt) {
  model::Graph graph = *model::ParseGraph(kSum);
  graph.values.push_back({"unused", {model::DType::kFloat16, {}}});
  EXPECT_EQ(Tolerance(graph), 1e-4);
}

}  // namespace
}  // namespace quotient::verify
