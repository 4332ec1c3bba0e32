#include "core/verify/first_difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "core/verify/bindings.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::verify {
namespace {

constexpr char kOriginal[] = R"(graph g {
    input x: float32[2,3]
    a = Relu(x)
    b = Exp(a)
    c = Neg(b)
    y = Abs(c)
    output y })";

class FirstDifferenceTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::optional<FirstDifference>> Find(absl::string_view other,
                                                      FirstDifferenceSettings settings = {}) {
    settings.tolerance = 1e-4;
    const CutGraph first = *CutAt(testing::MustParse(kOriginal), {}, 1, {});
    const CutGraph second = *CutAt(testing::MustParse(other), {}, 1, {});
    const std::vector<float> values = {1, -2, 3, 0.5, 2, -1};
    return FindFirstDifference(first, second, {model::Tensor::Floats({2, 3}, values)}, settings,
                               {});
  }
};

TEST_F(FirstDifferenceTest, EqualGraphsDoNotPart) {
  ASSERT_OK_AND_ASSIGN(const auto first, Find(kOriginal));
  EXPECT_FALSE(first.has_value());
}

TEST_F(FirstDifferenceTest, TheFirstValueThatDiffersIsNamed) {
  ASSERT_OK_AND_ASSIGN(const auto first, Find(R"(graph g {
    input x: float32[2,3]
    a = Relu(x)
    p = Softplus(a)
    b = Exp(p)
    c = Neg(b)
    y = Abs(c)
    output y })"));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->value, "b");
  EXPECT_EQ(first->op, "Exp");
  EXPECT_EQ(first->agreeing, 1);
  EXPECT_EQ(first->element, "[1,1]");
  EXPECT_NEAR(std::get<double>(first->original), std::exp(2), 1e-3);
  EXPECT_NEAR(std::get<double>(first->other), 1 + std::exp(2), 1e-3);
}

// Not every integer of 64 bits is a double.
TEST(FirstDifference, IntegersAreExact) {
  const auto graph = [](absl::string_view number) {
    return *CutAt(
        testing::MustParse(absl::StrCat("graph g { input x: int64[1] const k: int64[] = [", number,
                                        "]\na = Add(x, k) y = Identity(a) output y }")),
        {}, 1, {});
  };
  const int64_t zero = 0;
  ASSERT_OK_AND_ASSIGN(const auto first,
                       FindFirstDifference(graph("9007199254740992"), graph("9007199254740993"),
                                           {model::Tensor::Ints({1}, {&zero, 1})}, {}, {}));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(NumberText(first->original), "9007199254740992");
  EXPECT_EQ(NumberText(first->other), "9007199254740993");
}

TEST_F(FirstDifferenceTest, AnotherTypeIsADifference) {
  ASSERT_OK_AND_ASSIGN(const auto first, Find(R"(graph g {
    input x: float32[2,3]
    a = Transpose(x) {perm=[1,0]}
    y = Abs(a)
    output y })"));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->value, "a");
  EXPECT_EQ(first->element, "");
}

TEST_F(FirstDifferenceTest, ValuesUnderOtherNamesAreNotCompared) {
  ASSERT_OK_AND_ASSIGN(const auto first, Find(R"(graph g {
    input x: float32[2,3]
    other = Neg(x)
    y = Abs(other)
    output y })"));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->value, "y");
  EXPECT_EQ(first->agreeing, 0);
}

TEST_F(FirstDifferenceTest, OnlyAsManyValuesAreKeptAsFit) {
  constexpr char kWrong[] = R"(graph g {
    input x: float32[2,3]
    a = Relu(x)
    b = Neg(a)
    y = Abs(b)
    output y })";
  constexpr int64_t kBytes = 2 * 3 * sizeof(float);
  ASSERT_OK_AND_ASSIGN(const auto two, Find(kWrong, {.most_bytes = 2 * kBytes}));
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->value, "b");
  ASSERT_OK_AND_ASSIGN(const auto one, Find(kWrong, {.most_bytes = kBytes}));
  EXPECT_FALSE(one.has_value());
}

// The value that differs is an index out of range further on.
TEST_F(FirstDifferenceTest, WhatDiffersBeforeTheOtherFailsIsFound) {
  ASSERT_OK_AND_ASSIGN(const auto first, Find(R"(graph g {
    input x: float32[2,3]
    const table: float32[2] = [1, 2]
    a = Exp(x)
    i = Cast(a) {to=7}
    y = Gather(table, i)
    output y })"));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->value, "a");
}

}  // namespace
}  // namespace quotient::verify
