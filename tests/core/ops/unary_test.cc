#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/ops/one_node.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using testing::AttributesOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::Evaluated;
using testing::HasReason;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::testing::Pointwise;
using testing::TypeOf;
using testing::ValuesOf;

std::vector<double> OnFloats(absl::string_view node) {
  return ValuesOf(absl::StrCat("const x: float64[5] = [-2, -0.5, 0, 1, 3]\n", node));
}

TEST(Unary, FunctionsOfFloats) {
  struct Case {
    const char* node;
    double (*function)(double);
  };
  const Case cases[] = {
      {"y = Exp(x)", [](double x) { return std::exp(x); }},
      {"y = Erf(x)", [](double x) { return std::erf(x); }},
      {"y = Sin(x)", [](double x) { return std::sin(x); }},
      {"y = Cos(x)", [](double x) { return std::cos(x); }},
      {"y = Tanh(x)", [](double x) { return std::tanh(x); }},
      {"y = Relu(x)", [](double x) { return x > 0 ? x : 0; }},
      {"y = LeakyRelu(x) {alpha=0.5}", [](double x) { return x > 0 ? x : 0.5 * x; }},
      {"y = Sigmoid(x)", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"y = HardSigmoid(x) {alpha=0.25, beta=0.5}",
       [](double x) { return std::min(1.0, std::max(0.0, 0.25 * x + 0.5)); }},
      {"y = HardSwish(x)", [](double x) { return x * std::min(1.0, std::max(0.0, x / 6 + 0.5)); }},
      {"y = Gelu(x)", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2))); }},
      {"y = Gelu(x) {approximate=\"tanh\"}",
       [](double x) {
         return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {"y = Softplus(x)", [](double x) { return std::log(1 + std::exp(x)); }},
      {"y = Mish(x)", [](double x) { return x * std::tanh(std::log(1 + std::exp(x))); }},
      {"y = Elu(x) {alpha=2.0}", [](double x) { return x > 0 ? x : 2 * (std::exp(x) - 1); }},
      {"y = ThresholdedRelu(x) {alpha=1.0}", [](double x) { return x > 1 ? x : 0; }},
      {"y = Abs(x)", [](double x) { return std::fabs(x); }},
      {"y = Neg(x)", [](double x) { return -x; }},
      {"y = Floor(x)", [](double x) { return std::floor(x); }},
      {"y = Ceil(x)", [](double x) { return std::ceil(x); }},
  };
  for (const Case& c : cases) {
    std::vector<double> expected;
    for (double x : {-2.0, -0.5, 0.0, 1.0, 3.0}) expected.push_back(c.function(x));
    EXPECT_THAT(OnFloats(c.node), Pointwise(::testing::DoubleNear(1e-14), expected)) << c.node;
  }
}

TEST(Unary, RoundsHalvesToEven) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[5] = [0.5, 1.5, 2.5, -0.5, -1.5]
                          y = Round(x))"),
              ElementsAre(0, 2, 2, 0, -2));
}

TEST(Unary, LargeArgumentsDoNotOverflow) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[2] = [-1000, 1000]
                          y = Softplus(x))"),
              ElementsAre(0, 1000));
  EXPECT_THAT(ValuesOf(R"(const x: float32[2] = [-1000, 1000]
                          y = Sigmoid(x))"),
              ElementsAre(0, 1));
}

TEST(Unary, NaNPasses) {
  for (const char* node : {"y = Relu(x)", "y = Clip(x) {max=1.0, min=0.0}", "y = Sign(x)"}) {
    EXPECT_THAT(ValuesOf(absl::StrCat("const x: float32[1] = [nan]\n", node)), ElementsAre(IsNan()))
        << node;
  }
  EXPECT_THAT(ValuesOf(R"(const x: float32[3] = [nan, 0, inf]
                          y = IsNaN(x))"),
              ElementsAre(1, 0, 0));
  EXPECT_THAT(ValuesOf(R"(const x: float32[4] = [nan, 0, inf, -inf]
                          y = IsInf(x) {detect_negative=0})"),
              ElementsAre(0, 0, 1, 0));
}

TEST(Unary, IntegersAreExactAndWrap) {
  EXPECT_THAT(ValuesOf(R"(const x: int8[3] = [-128, -1, 127]
                          y = Abs(x))"),
              ElementsAre(-128, 1, 127));
  ASSERT_OK_AND_ASSIGN(const model::Tensor y, Evaluated(R"(
      const x: int64[2] = [9007199254740993, -9007199254740993]
      y = Neg(x))"));
  EXPECT_THAT(y.AsInts(), ElementsAre(-9007199254740993, 9007199254740993));
  EXPECT_THAT(ValuesOf(R"(const x: uint8[2] = [0, 200]
                          y = Sign(x))"),
              ElementsAre(0, 1));
}

TEST(Unary, RoundsOnceToTheElementType) {
  // Within half a unit in the last place.
  EXPECT_THAT(ValuesOf(R"(const x: float16[1] = [2]
                          y = Sqrt(x))"),
              ElementsAre(DoubleNear(std::sqrt(2), 0x1p-11)));
  EXPECT_THAT(ValuesOf(R"(const x: bfloat16[1] = [3]
                          y = Reciprocal(x))"),
              ElementsAre(DoubleNear(1.0 / 3, 0x1p-10)));
}

TEST(Clip, BoundsAreOptionalAndTheUpperOneWins) {
  EXPECT_THAT(OnFloats("const lo: float64[] = [-1]\ny = Clip(x, lo)"),
              ElementsAre(-1, -0.5, 0, 1, 3));
  EXPECT_THAT(OnFloats("const hi: float64[] = [0.5]\ny = Clip(x, _, hi)"),
              ElementsAre(-2, -0.5, 0, 0.5, 0.5));
  EXPECT_THAT(OnFloats("y = Clip(x)"), ElementsAre(-2, -0.5, 0, 1, 3));
  EXPECT_THAT(OnFloats("const lo: float64[] = [2]\nconst hi: float64[] = [1]\ny = Clip(x, lo, hi)"),
              ElementsAre(1, 1, 1, 1, 1));
}

TEST(Clip, ConstantBoundsBecomeAttributes) {
  EXPECT_EQ(AttributesOf(R"(input x: float32[N]
                            const lo: float32[] = [0]
                            const hi: float32[] = [6]
                            y = Clip(x, lo, hi))"),
            "{max=6.0, min=0.0}");
}

TEST(Clip, BoundsBeyondTheIntegersSaturate) {
  ASSERT_OK_AND_ASSIGN(const model::Tensor y, Evaluated(R"(
      const x: int64[2] = [-9223372036854775808, 9223372036854775807]
      y = Clip(x) {max=1e30, min=-1e30})"));
  EXPECT_THAT(y.AsInts(), ElementsAre(std::numeric_limits<int64_t>::min(),
                                      std::numeric_limits<int64_t>::max()));
}

TEST(Unary, TypesFollowTheInputAndKeepSymbols) {
  EXPECT_EQ(TypeOf("input x: float16[N,?,3]\ny = Tanh(x)"), "float16[N,?,3]");
  EXPECT_EQ(TypeOf("input x: float32[*]\ny = Relu(x)"), "float32[*]");
  EXPECT_EQ(TypeOf("input x: float32[N]\ny = IsNaN(x)"), "bool[N]");
}

TEST(Unary, RefusesElementTypesByName) {
  EXPECT_THAT(TypeOf("input x: int32[4]\ny = Sqrt(x)"), HasSubstr("int32"));
  EXPECT_THAT(TypeOf("input x: bool[4]\ny = Neg(x)"), HasSubstr("bool"));
  EXPECT_THAT(TypeOf("input x: float32[4]\ny = Not(x)"), HasSubstr("float32"));
  EXPECT_THAT(Evaluated("const x: int32[1] = [4]\ny = Exp(x)"), HasReason(Reason::kModelShape));
}

TEST(Unary, DefaultsAreAbsent) {
  EXPECT_EQ(AttributesOf("input x: float32[N]\ny = LeakyRelu(x) {alpha=0.009999999776482582}"), "");
  EXPECT_EQ(AttributesOf("input x: float32[N]\ny = Gelu(x) {approximate=\"none\"}"), "");
}

TEST(Unary, AcceptsOnlyTheGeluItKnows) {
  EXPECT_THAT(Evaluated("const x: float32[1] = [1]\ny = Gelu(x) {approximate=\"sigmoid\"}"),
              testing::StatusIs(absl::StatusCode::kUnimplemented));
}

// Such a bound is no attribute, but an input for ever.
TEST(Unary, ClipsAtIntegersThatNoDoubleSays) {
  const absl::StatusOr<model::Tensor> y = Evaluated(R"(
      const x: int64[3] = [9007199254740995, 0, -9007199254740995]
      const low: int64[] = [-9007199254740993]
      const high: int64[] = [9007199254740993]
      y = Clip(x, low, high))");
  ASSERT_OK(y);
  EXPECT_THAT(y->AsInts(), ElementsAre(9007199254740993, 0, -9007199254740993));
}

}  // namespace
}  // namespace quotient::ops
