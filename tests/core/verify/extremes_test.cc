#include "core/verify/extremes.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"

namespace quotient::verify {
namespace {

// Of the first input.
Extremes Of(absl::string_view input, absl::string_view nodes) {
  model::Graph graph =
      testing::MustParse(absl::StrCat("graph g { input x: ", input, "\n", nodes, "\noutput y }"));
  EXPECT_TRUE(ops::InferTypes(graph).ok());
  return FindExtremes(graph)[0];
}

Extremes OfFloat(absl::string_view nodes) { return Of("float32[4,4]", nodes); }
Extremes OfInteger(absl::string_view nodes) { return Of("int64[4]", nodes); }

TEST(FindExtremes, ElementWiseFunctionsKeepANan) {
  EXPECT_TRUE(OfFloat("a = Exp(x) b = Add(a, x) y = Max(a, b)").takes_nan);
  EXPECT_TRUE(OfFloat("y = Transpose(x) {perm=[1,0]}").takes_nan);
  EXPECT_FALSE(OfFloat("const w: float32[4,4] = random(1) y = MatMul(x, w)").takes_nan);
  EXPECT_FALSE(OfFloat("y = Softmax(x) {axis=1}").takes_nan);
  EXPECT_FALSE(OfFloat("y = Cast(x) {to=7}").takes_nan);
  EXPECT_FALSE(
      OfFloat("a = Relu(x) b = ReduceSum(x) {axes=[0],keepdims=1} y = Add(a, b)").takes_nan);
}

TEST(FindExtremes, AGuardAgainstNanEndsIt) {
  constexpr char kGuarded[] = R"(
      const zero: float32[] = [0]
      const w: float32[4,4] = random(1)
      n = IsNaN(x)
      a = Where(n, zero, x)
      y = MatMul(a, w))";
  EXPECT_TRUE(OfFloat(kGuarded).takes_nan);
  EXPECT_FALSE(OfFloat(kGuarded).takes_largest);
  EXPECT_TRUE(OfFloat("const c: float32[] = [3] y = Less(x, c)").takes_nan);
}

TEST(FindExtremes, HugeNumbersStayOrEndInBounds) {
  EXPECT_TRUE(OfFloat("a = LeakyRelu(x) {alpha=0.5} y = Floor(a)").takes_largest);
  EXPECT_TRUE(
      OfFloat("const w: float32[4,4] = random(1) a = Tanh(x) y = MatMul(a, w)").takes_largest);
  EXPECT_TRUE(
      OfFloat("const c: float32[] = [3] a = Mul(x, c) b = Add(a, c) y = Div(b, c)").takes_largest);
  EXPECT_TRUE(OfFloat("a = Clip(x) {min=-1.0,max=1.0} y = Exp(a)").takes_largest);
  EXPECT_FALSE(OfFloat("a = Clip(x) {min=-1.0} y = Exp(a)").takes_largest);
  EXPECT_FALSE(OfFloat("const c: float32[] = [1e10] y = Mul(x, c)").takes_largest);
  EXPECT_FALSE(OfFloat("y = Mul(x, x)").takes_largest);
  EXPECT_FALSE(OfFloat("a = Neg(x) y = Add(x, a)").takes_largest);
  EXPECT_FALSE(Of("float16[4]", "y = Neg(x)").takes_largest);
}

// A smaller one would hide errors beside it, and a larger one may overflow in one order of factors.
TEST(FindExtremes, HugeNumbersStayHugeAndInRange) {
  EXPECT_FALSE(OfFloat("y = LeakyRelu(x)").takes_largest);
  EXPECT_FALSE(OfFloat("const c: float32[] = [16] y = Div(x, c)").takes_largest);
  constexpr char kFactors[] = R"(
      const c: float32[] = [200]
      a = Mul(x, c) b = Mul(a, c)
      %s)";
  EXPECT_TRUE(OfFloat(absl::StrFormat(kFactors, "y = Mul(b, c)")).takes_largest);
  EXPECT_FALSE(OfFloat(absl::StrFormat(kFactors, "d = Mul(b, c) y = Mul(d, c)")).takes_largest);
}

TEST(FindExtremes, BoundsThatBoundNothingEndNothing) {
  constexpr char kClamped[] =
      "const w: float32[4,4] = random(1) a = Clip(x) {min=-3.4e38,max=3.4e38} y = MatMul(a, w)";
  EXPECT_FALSE(OfFloat(kClamped).takes_largest);
}

TEST(FindExtremes, IntegersTakeTheLimitsOfTheirTypeIfTheyStayIntegers) {
  EXPECT_TRUE(OfInteger("const c: int64[] = [3] a = Mul(x, c) y = Mod(a, c)").takes_largest);
  EXPECT_TRUE(OfInteger("a = Cast(x) {to=6} y = Cast(a) {to=7}").takes_largest);
  EXPECT_TRUE(OfInteger("const c: int64[] = [3] y = Greater(x, c)").takes_largest);
  EXPECT_FALSE(OfInteger("y = Cast(x) {to=1}").takes_largest);
  EXPECT_FALSE(OfInteger("const t: float32[4,2] = random(1) y = Gather(t, x)").takes_largest);
}

}  // namespace
}  // namespace quotient::verify
