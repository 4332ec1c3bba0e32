#include "core/optimize/compare_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/reason.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using quotient::testing::HasReason;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CompareModelsTest : public ::testing::Test {
 protected:
  absl::StatusOr<report::Comparison> Compare(const std::string& first, const std::string& second) {
    return CompareBytes(testing::ModelAtOpset(17, first).SerializeAsString(),
                        testing::ModelAtOpset(17, second).SerializeAsString());
  }
  absl::StatusOr<report::Comparison> CompareBytes(const std::string& first,
                                                  const std::string& second) {
    return CompareModels({"first.onnx", first, {}}, {"second.onnx", second, {}}, options_, stop_);
  }

  Options options_;
  CancelToken token_;
  StopCondition stop_{&token_};
};

constexpr char kFirst[] =
    "g (float[N,3] x) => (float[N,3] y) { a = Relu(x) b = Exp(a) y = Add(b, x) }";

TEST_F(CompareModelsTest, AModelIsTheSameInAnotherForm) {
  ASSERT_OK_AND_ASSIGN(
      const report::Comparison same,
      Compare(kFirst,
              "g (float[N,3] x) => (float[N,3] y) { c = Relu(x) d = Exp(c) y = Add(x, d) }"));
  EXPECT_TRUE(same.is_same) << same.failure;
  EXPECT_GT(same.input_sets, 1);
  EXPECT_THAT(same.sizes, SizeIs(::testing::Gt(1)));
  EXPECT_EQ(same.sizes[0].nodes, 3);
  EXPECT_FALSE(same.parted.has_value());
  EXPECT_LT(same.max_relative_error, same.tolerance);
}

TEST_F(CompareModelsTest, WhereTheyPartIsTold) {
  ASSERT_OK_AND_ASSIGN(
      const report::Comparison other,
      Compare(kFirst,
              "g (float[N,3] x) => (float[N,3] y) { a = Relu(x) b = Sqrt(a) y = Add(b, x) }"));
  EXPECT_FALSE(other.is_same);
  EXPECT_EQ(other.output, "output y");
  ASSERT_TRUE(other.parted.has_value());
  EXPECT_EQ(other.parted->name, "b");
  EXPECT_EQ(other.parted->op, "Sqrt");
  EXPECT_EQ(other.parted->agreeing, 1);
}

// Its Reshape is right for a batch of one.
TEST_F(CompareModelsTest, OtherSizesAreTried) {
  options_.measure_shapes = {{"x", {1, 3}}};
  ASSERT_OK_AND_ASSIGN(const report::Comparison other,
                       Compare("g (float[N,3] x) => (float[N,3] y) { y = Neg(x) }",
                               "g (float[N,3] x) => (float[1,3] y) <int64[2] s = {1, 3}> { a = "
                               "Neg(x) y = Reshape(a, s) }"));
  EXPECT_FALSE(other.is_same);
  EXPECT_THAT(other.failure, HasSubstr("at x=["));
}

TEST_F(CompareModelsTest, ModelsWithOtherInterfacesAreNotRun) {
  ASSERT_OK_AND_ASSIGN(const report::Comparison other,
                       Compare(kFirst, "g (float[N,3] z) => (float[N,3] y) { y = Neg(z) }"));
  EXPECT_FALSE(other.is_same);
  EXPECT_THAT(other.interface, SizeIs(2));
  EXPECT_THAT(other.sizes, IsEmpty());
}

TEST_F(CompareModelsTest, WhatCannotBeReadIsNamed) {
  const std::string good = testing::ModelAtOpset(17, kFirst).SerializeAsString();
  const auto first = CompareBytes("no model", good);
  EXPECT_THAT(first, HasReason(Reason::kModelMalformed));
  EXPECT_THAT(first.status().message(), HasSubstr("first.onnx"));
  const auto second = CompareBytes(good, "no model");
  EXPECT_THAT(second, HasReason(Reason::kModelMalformed));
  EXPECT_THAT(second.status().message(), HasSubstr("second.onnx"));
}

TEST_F(CompareModelsTest, ACancelledComparisonEnds) {
  token_.Cancel();
  EXPECT_THAT(Compare(kFirst, kFirst), HasReason(Reason::kCancelled));
}

}  // namespace
}  // namespace quotient::optimize
