#include "core/verify/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/model/text.h"

namespace quotient::verify {
namespace {

using model::Tensor;

Tensor Floats(std::vector<float> values) {
  return Tensor::Floats({static_cast<int64_t>(values.size())}, values);
}

TEST(CompareTest, RelativeToTheLargestValue) {
  const Difference difference = Compare(Floats({10, 0, -20}), Floats({10, 0.2f, -20}));
  EXPECT_NEAR(difference.relative_error, 0.01, 1e-8);
  EXPECT_EQ(difference.index, 1);
  EXPECT_EQ(Compare(Floats({1, 2}), Floats({1, 2})).relative_error, 0);
  EXPECT_NEAR(Compare(Floats({0, 0}), Floats({0, 0.5f})).relative_error, 0.5, 1e-9);
}

TEST(CompareTest, SpecialValuesMustAgree) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Compare(Floats({nan, 1}), Floats({nan, 1})).relative_error, 0);
  EXPECT_EQ(Compare(Floats({inf, 1}), Floats({inf, 1})).relative_error, 0);
  EXPECT_TRUE(std::isinf(Compare(Floats({nan, 1}), Floats({0, 1})).relative_error));
  EXPECT_TRUE(std::isinf(Compare(Floats({1, 1}), Floats({nan, 1})).relative_error));
  EXPECT_TRUE(std::isinf(Compare(Floats({inf, 1}), Floats({-inf, 1})).relative_error));
}

// Relative to the mask every difference would be small.
TEST(CompareTest, AMaskIsNoMeasureForTheOthers) {
  EXPECT_NEAR(Compare(Floats({1, -3e38f}), Floats({2, -3e38f})).relative_error, 1, 1e-9);
  EXPECT_NEAR(Compare(Floats({1, -3e38f}), Floats({1, -1.5e38f})).relative_error, 0.5, 1e-6);
  EXPECT_GT(Compare(Floats({1, 1}), Floats({1, 3e38f})).relative_error, 1e30);
}

TEST(CompareTest, IntegersAndTypesMustBeEqual) {
  const Tensor a = Tensor::Ints({2}, std::vector<int64_t>{1, 2});
  EXPECT_EQ(Compare(a, a).relative_error, 0);
  EXPECT_TRUE(std::isinf(Compare(a, Tensor::Ints({2}, std::vector<int64_t>{1, 3})).relative_error));
  EXPECT_TRUE(std::isinf(Compare(a, a.Reshaped({2, 1})).relative_error));
  EXPECT_TRUE(std::isinf(Compare(a, Floats({1, 2})).relative_error));
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

CutGraph CutOf(absl::string_view text) { return *Cut(*model::ParseGraph(text)); }

constexpr char kOriginal[] = R"(graph g {
    input a: float32[2]
    input b: float32[2]
    y: float32[2] = Add(a, b)
    output y })";

TEST(ReferenceTest, FindsEqualGraphsEqual) {
  const CutGraph original = CutOf(kOriginal);
  const auto reference = Reference::Create(original, 3, 0, 1, {});
  ASSERT_TRUE(reference.ok()) << reference.status();
  const auto verdict = reference->Check(CutOf(R"(graph g {
      input b: float32[2]
      input a: float32[2]
      y: float32[2] = Add(b, a)
      output y })"),
                                        1, {});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_TRUE(verdict->passed);
  EXPECT_EQ(verdict->inputs, 3);
}

TEST(ReferenceTest, FindsAWrongGraphWrong) {
  const CutGraph original = CutOf(kOriginal);
  const auto reference = Reference::Create(original, 1, 0, 1, {});
  ASSERT_TRUE(reference.ok()) << reference.status();
  const auto verdict = reference->Check(CutOf(R"(graph g {
      input a: float32[2]
      input b: float32[2]
      y: float32[2] = Sub(a, b)
      output y })"),
                                        1, {});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_FALSE(verdict->passed);
  EXPECT_THAT(verdict->failure, ::testing::HasSubstr("output y is off by"));
}

TEST(ReferenceTest, NothingFiniteIsNothingCompared) {
  const CutGraph original = CutOf(R"(graph g {
      input a: float32[2]
      const zero: float32[] = [0]
      z: float32[2] = Div(a, zero)
      y: float32[2] = Sub(z, z)
      output y })");
  const auto reference = Reference::Create(original, 2, 0, 1, {});
  ASSERT_TRUE(reference.ok()) << reference.status();
  const auto verdict = reference->Check(original, 1, {});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_FALSE(verdict->passed);
  EXPECT_THAT(verdict->failure, ::testing::HasSubstr("no finite number"));
}

TEST(ReferenceTest, AnOutputThatVanishedIsWrong) {
  const CutGraph original = CutOf(kOriginal);
  const auto reference = Reference::Create(original, 1, 0, 1, {});
  ASSERT_TRUE(reference.ok()) << reference.status();
  const auto verdict = reference->Check(CutOf(R"(graph g {
      input a: float32[2]
      z: float32[2] = Neg(a)
      output z })"),
                                        1, {});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_FALSE(verdict->passed);
}

TEST(ToleranceTest, TheNarrowestTypeDecides) {
  EXPECT_EQ(Tolerance(*model::ParseGraph(kOriginal)), 1e-4);
  EXPECT_EQ(Tolerance(*model::ParseGraph(
                "graph g { input x: float32[1] y: float16[1] = Cast(x) output y }")),
            1e-2);
}

TEST(ToleranceTest, AValueThatNothingUsesDoesNotWidenIt) {
  model::Graph graph = *model::ParseGraph(kOriginal);
  graph.values.push_back({"unused", {model::DType::kFloat16, {}}});
  EXPECT_EQ(Tolerance(graph), 1e-4);
}

}  // namespace
}  // namespace quotient::verify
