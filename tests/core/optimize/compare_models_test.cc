#include "core/optimize/compare_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using quotient::testing::HasReason;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CompareModelsTest : public ::testing::Test {
 protected:
  absl::StatusOr<report::Comparison> Compare(const std::string& first, const std::string& second) {
    return CompareBytes(Bytes(first), Bytes(second));
  }
  static std::string Bytes(const std::string& graph) {
    constexpr char kHead[] = R"(<ir_version: 8, opset_import: ["" : 17, "acme" : 1]> )";
    return testing::ModelFromText(absl::StrCat(kHead, graph)).SerializeAsString();
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

TEST_F(CompareModelsTest, ModelsWithoutOpenSizesPartAtTheirOwn) {
  ASSERT_OK_AND_ASSIGN(const report::Comparison other,
                       Compare("g (float[2,3] x) => (float[2,3] y) { a = Abs(x) y = Exp(a) }",
                               "g (float[2,3] x) => (float[2,3] y) { a = Neg(x) y = Exp(a) }"));
  ASSERT_TRUE(other.parted.has_value());
  EXPECT_EQ(other.parted->name, "a");
  ASSERT_THAT(other.sizes, SizeIs(1));
  EXPECT_EQ(other.sizes[0].nodes, 2);
}

// What it cannot evaluate must be the same. There is no third way between the same and different.
TEST_F(CompareModelsTest, WhatCannotBeEvaluatedMustBeTheSame) {
  const auto lstm = [](absl::string_view direction, absl::string_view name = "h") {
    return absl::StrCat("g (float[S,1,2] x, float[1,8,2] w, float[1,8,2] r) => (float[S,1,1,2] ",
                        name, ") { ", name, " = LSTM <hidden_size = 2, direction = \"", direction,
                        "\"> (x, w, r) }");
  };
  const auto branch = [](absl::string_view op) {
    return absl::StrCat(
        "g (bool b, float[3] x) => (float[3] y) { y = If (b) <then_branch = t () => "
        "(float[3] u) { u = ",
        op,
        "(x) }, else_branch = e () => (float[3] v) { v = "
        "Neg(x) }> }");
  };
  const auto custom = [](absl::string_view alpha) {
    return absl::StrCat(
        "g (float[3] x) => (float[3] y) { a = Neg(x) y = acme.Scale <alpha = ", alpha, "> (a) }");
  };
  struct Case {
    std::string first;
    std::string second;
  };
  for (const Case& each : {Case{lstm("forward"), lstm("reverse")},
                           Case{branch("Abs"), branch("Exp")}, Case{custom("1"), custom("2")}}) {
    ASSERT_OK_AND_ASSIGN(const report::Comparison same, Compare(each.first, each.first));
    EXPECT_TRUE(same.is_same) << each.first;
    EXPECT_THAT(same.notes, Contains(HasSubstr("cannot be evaluated here")));
    EXPECT_THAT(Compare(each.first, each.second),
                HasReason(Reason::kModelUnsupported, HasSubstr("second.onnx: node '")))
        << each.second;
  }
}

// The size of `n` depends on values.
TEST_F(CompareModelsTest, WhatComesBehindIsCompared) {
  const auto tail = [](absl::string_view op) {
    return absl::StrCat(
        "g (float[3] x) => (float[1,M] y) { n = NonZero(x) c = Cast <to = 1> (n) y = ", op,
        "(c) }");
  };
  ASSERT_OK_AND_ASSIGN(const report::Comparison same, Compare(tail("Neg"), tail("Neg")));
  EXPECT_TRUE(same.is_same) << same.failure;
  const auto other = Compare(tail("Neg"), tail("Abs"));
  EXPECT_TRUE(!other.ok() || !other->is_same);
}

TEST_F(CompareModelsTest, WhatOnlyOneModelCanEvaluateIsNotCompared) {
  const std::string known = "g (float[3] x) => (float[3] y) { a = Relu(x) y = Neg(a) }";
  const std::string unknown = "g (float[3] x) => (float[3] y) { a = acme.Relu(x) y = Neg(a) }";
  EXPECT_THAT(Compare(known, unknown), HasReason(Reason::kModelUnsupported));
  EXPECT_THAT(Compare(unknown, known), HasReason(Reason::kModelUnsupported));
}

// Random values stand for what it computes, and what it reads need not make a difference.
TEST_F(CompareModelsTest, WhatRestsOnSuchANodeIsNotKnown) {
  const auto with = [](absl::string_view nodes) {
    return absl::StrCat("g (float[3] x) => (float[3] y, float[3] z) { ", nodes, " }");
  };
  const std::string first = with("a = Abs(x) h = acme.F(a) y = Neg(h) z = Exp(x)");
  for (const char* nodes : {"a = Neg(x) h = acme.F(a) y = Neg(h) z = Exp(x)",
                            "a = Abs(x) h = acme.F(a) y = Abs(h) z = Exp(x)",
                            "a = Abs(x) h = acme.F(a, x) y = Neg(h) z = Exp(x)"}) {
    EXPECT_THAT(Compare(first, with(nodes)),
                HasReason(Reason::kModelUnsupported, HasSubstr("second.onnx: node '")))
        << nodes;
  }
  EXPECT_THAT(Compare(with("y = acme.F(x) z = acme.G(x)"), with("z = acme.F(x) y = acme.G(x)")),
              HasReason(Reason::kModelUnsupported));
  EXPECT_THAT(Compare(with("h = acme.F(x) y = Identity(h) z = acme.G(x)"),
                      with("h = acme.F(x) z = acme.G(x) y = Identity(z)")),
              HasReason(Reason::kModelUnsupported));
  ASSERT_OK_AND_ASSIGN(const report::Comparison other,
                       Compare(first, with("a = Abs(x) h = acme.F(a) y = Neg(h) z = Sqrt(x)")));
  EXPECT_EQ(other.output, "output z");
}

// A caller of the first gives no others.
TEST_F(CompareModelsTest, TheSecondMayTakeMoreSizes) {
  constexpr char kFixed[] = "g (float[4,8] x) => (float[4,8] y) { y = Relu(x) }";
  ASSERT_OK_AND_ASSIGN(const report::Comparison same,
                       Compare(kFixed, "g (float[N,8] x) => (float[N,8] y) { y = Relu(x) }"));
  EXPECT_TRUE(same.is_same) << same.failure;
}

TEST_F(CompareModelsTest, AnotherOpsetIsTheSameWhereOperatorsAre) {
  const auto at = [](int opset) {
    return testing::ModelAtOpset(opset,
                                 "g (float[S,1,2] x, float[1,8,2] w, float[1,8,2] r) => "
                                 "(float[S,1,1,2] h) { h = LSTM <hidden_size = 2> (x, w, r) }")
        .SerializeAsString();
  };
  ASSERT_OK_AND_ASSIGN(const report::Comparison same, CompareBytes(at(14), at(17)));
  EXPECT_TRUE(same.is_same);
}

TEST_F(CompareModelsTest, MoreInputsWithDefaultsAreLeftOut) {
  constexpr char kTwice[] = "g (float[3] x) => (float[3] y) { y = Add(x, x) }";
  constexpr char kScaled[] =
      "g (float[3] x, float w) => (float[3] y) <float w = {2}> { y = Mul(x, w) }";
  ASSERT_OK_AND_ASSIGN(const report::Comparison same, Compare(kTwice, kScaled));
  EXPECT_TRUE(same.is_same) << same.failure;
  ASSERT_OK_AND_ASSIGN(
      const report::Comparison other,
      Compare(kTwice, "g (float[3] x, float w) => (float[3] y) <float w = {3}> { y = Mul(x, w) }"));
  EXPECT_FALSE(other.is_same);
}

TEST_F(CompareModelsTest, FrozenInitializersAreConstantsInBoth) {
  constexpr char kScaled[] =
      "g (float[3] x, float w) => (float[3] y) <float w = {2}> { y = Mul(x, w) }";
  for (const bool freeze : {false, true}) {
    options_.freeze_initializers = freeze;
    ASSERT_OK_AND_ASSIGN(const report::Comparison same, Compare(kScaled, kScaled));
    EXPECT_TRUE(same.is_same) << same.failure;
  }
}

TEST_F(CompareModelsTest, ModelsWithOtherInterfacesAreNotRun) {
  ASSERT_OK_AND_ASSIGN(const report::Comparison other,
                       Compare(kFirst, "g (float[N,3] z) => (float[N,3] y) { y = Neg(z) }"));
  EXPECT_FALSE(other.is_same);
  EXPECT_THAT(other.interface, SizeIs(2));
  EXPECT_THAT(other.sizes, IsEmpty());
}

TEST_F(CompareModelsTest, WhatCannotBeReadIsNamed) {
  const std::string good = Bytes(kFirst);
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
