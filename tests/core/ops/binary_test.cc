#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/ops/one_node.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using ::testing::ElementsAre;
using testing::Evaluated;
using testing::HasReason;
using ::testing::HasSubstr;
using ::testing::IsNan;
using testing::StatusIs;
using testing::TypeOf;
using testing::ValuesOf;

TEST(Binary, Broadcasts) {
  EXPECT_THAT(ValuesOf(R"(const a: float32[2,1] = [10, 20]
                          const b: float32[3] = [1, 2, 3]
                          y = Add(a, b))"),
              ElementsAre(11, 12, 13, 21, 22, 23));
  EXPECT_THAT(ValuesOf(R"(const a: float32[] = [10]
                          const b: float32[1,2] = [1, 2]
                          y = Sub(a, b))"),
              ElementsAre(9, 8));
}

TEST(Binary, BroadcastOfAnEmptyTensorIsEmpty) {
  EXPECT_EQ(TypeOf("input a: float32[0,3]\ninput b: float32[1,3]\ny = Mul(a, b)"), "float32[0,3]");
  EXPECT_THAT(ValuesOf(R"(const a: float32[0,3] = []
                          const b: float32[1,3] = [1, 2, 3]
                          y = Mul(a, b))"),
              ElementsAre());
}

TEST(Binary, IntegersWrapAndTruncate) {
  EXPECT_THAT(ValuesOf(R"(const a: int8[2] = [127, -128]
                          const b: int8[2] = [1, -1]
                          y = Add(a, b))"),
              ElementsAre(-128, 127));
  EXPECT_THAT(ValuesOf(R"(const a: int32[4] = [7, -7, 7, -7]
                          const b: int32[4] = [2, 2, -2, -2]
                          y = Div(a, b))"),
              ElementsAre(3, -3, -3, 3));
  ASSERT_OK_AND_ASSIGN(const model::Tensor lowest, Evaluated(R"(
      const a: int64[1] = [-9223372036854775808]
      const b: int64[1] = [-1]
      y = Div(a, b))"));
  EXPECT_THAT(lowest.AsInts(), ElementsAre(std::numeric_limits<int64_t>::min()));
}

TEST(Binary, LargeUnsignedNumbersAreNotNegative) {
  // -1 is how the text form writes 2^64 - 1.
  EXPECT_THAT(ValuesOf(R"(const a: uint64[1] = [-1]
                          const b: uint64[1] = [6148914691236517205]
                          y = Div(a, b))"),
              ElementsAre(3));
  EXPECT_THAT(ValuesOf(R"(const a: uint64[1] = [-1]
                          const b: uint64[1] = [1]
                          y = Min(a, b))"),
              ElementsAre(1));
}

TEST(Binary, IntegerDivisionByZeroIsAnError) {
  for (const char* node : {"y = Div(a, b)", "y = Mod(a, b)"}) {
    EXPECT_THAT(Evaluated(absl::StrCat("const a: int32[2] = [1, 2]\n"
                                       "const b: int32[2] = [1, 0]\n",
                                       node)),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  EXPECT_THAT(ValuesOf(R"(const a: float32[2] = [1, 0]
                          const b: float32[2] = [0, 0]
                          y = Div(a, b))"),
              ElementsAre(std::numeric_limits<double>::infinity(), IsNan()));
}

TEST(Binary, ModTakesTheSignOfTheDivisorOrOfTheDividend) {
  const char* operands = R"(const a: int32[4] = [7, -7, 7, -7]
                            const b: int32[4] = [3, 3, -3, -3]
                            )";
  EXPECT_THAT(ValuesOf(absl::StrCat(operands, "y = Mod(a, b)")), ElementsAre(1, 2, -2, -1));
  EXPECT_THAT(ValuesOf(absl::StrCat(operands, "y = Mod(a, b) {fmod=1}")),
              ElementsAre(1, -1, 1, -1));
  EXPECT_THAT(ValuesOf(R"(const a: float32[2] = [5.5, -5.5]
                          const b: float32[2] = [2, 2]
                          y = Mod(a, b) {fmod=1})"),
              ElementsAre(1.5, -1.5));
}

TEST(Binary, PowMixesTypes) {
  EXPECT_THAT(ValuesOf(R"(const a: float32[2] = [2, 9]
                          const b: int64[2] = [10, -1]
                          y = Pow(a, b))"),
              ElementsAre(1024, 1.0f / 9));
  EXPECT_EQ(TypeOf("input a: int32[2]\ninput b: float32[]\ny = Pow(a, b)"), "int32[2]");
  ASSERT_OK_AND_ASSIGN(const model::Tensor exact, Evaluated(R"(
      const a: int64[5] = [3, 2, -1, 1, 0]
      const b: int64[5] = [35, -1, -3, -5, 0]
      y = Pow(a, b))"));
  EXPECT_THAT(exact.AsInts(), ElementsAre(50031545098999707, 0, -1, 1, 1));
}

TEST(Binary, AnyNumberOfInputs) {
  const char* inputs = R"(const a: float32[2] = [1, 5]
                          const b: float32[2] = [3, 2]
                          const c: float32[] = [2]
                          )";
  EXPECT_THAT(ValuesOf(absl::StrCat(inputs, "y = Max(a, b, c)")), ElementsAre(3, 5));
  EXPECT_THAT(ValuesOf(absl::StrCat(inputs, "y = Min(a, b, c)")), ElementsAre(1, 2));
  EXPECT_THAT(ValuesOf(absl::StrCat(inputs, "y = Sum(a, b, c)")), ElementsAre(6, 9));
  EXPECT_THAT(ValuesOf(absl::StrCat(inputs, "y = Mean(a, b, c)")), ElementsAre(2, 3));
  EXPECT_THAT(ValuesOf("const a: float32[2] = [1, 5]\ny = Max(a)"), ElementsAre(1, 5));
}

TEST(Binary, NaNWins) {
  EXPECT_THAT(ValuesOf(R"(const a: float32[2] = [nan, 1]
                          const b: float32[2] = [1, nan]
                          y = Max(a, b))"),
              ElementsAre(IsNan(), IsNan()));
}

TEST(Binary, SumsRoundOnce) {
  // 2048 + 1 is lost in float16, 2048 + 1 + 1 is not.
  EXPECT_THAT(ValuesOf(R"(const a: float16[1] = [2048]
                          const b: float16[1] = [1]
                          y = Sum(a, b, b))"),
              ElementsAre(2050));
}

TEST(Binary, PReluScalesWhatIsNegative) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[2,2] = [-1, 2, -3, 4]
                          const slope: float32[2,1] = [0.5, 0.25]
                          y = PRelu(x, slope))"),
              ElementsAre(-0.5, 2, -0.75, 4));
}

TEST(Binary, InfersSymbols) {
  EXPECT_EQ(TypeOf("input a: float32[N,1]\ninput b: float32[M]\ny = Add(a, b)"), "float32[N,M]");
  EXPECT_EQ(TypeOf("input a: float32[N]\ninput b: float32[N]\ny = Mul(a, b)"), "float32[N]");
  EXPECT_EQ(TypeOf("input a: float32[N]\ninput b: float32[M]\ny = Mul(a, b)"), "float32[?]");
  EXPECT_EQ(TypeOf("input a: float32[*]\ninput b: float32[M]\ny = Sub(a, b)"), "float32[*]");
}

TEST(Binary, RefusesWhatDoesNotFit) {
  EXPECT_THAT(TypeOf("input a: float32[2]\ninput b: float32[3]\ny = Add(a, b)"),
              HasSubstr("cannot be broadcast"));
  EXPECT_THAT(TypeOf("input a: float32[2]\ninput b: float64[2]\ny = Add(a, b)"),
              HasSubstr("float32 and float64"));
  EXPECT_THAT(TypeOf("input a: bool[2]\ninput b: bool[2]\ny = Add(a, b)"), HasSubstr("bool"));
  EXPECT_THAT(testing::Inferred("input a: float32[2]\ninput b: float32[3]\ny = Add(a, b)"),
              HasReason(Reason::kModelShape));
}

// What inference knows of elements shows in the shape that Reshape makes of them.
std::string ReshapedBy(absl::string_view node) {
  return TypeOf(
      absl::StrCat("input x: float32[N,2,3]\n"
                   "s = Shape(x)\n"
                   "const two: int64[] = [2]\n"
                   "const k: int64[3] = [1, 2, 3]\n",
                   node, "\ny = ConstantOfShape(t)"));
}

TEST(Binary, FollowsElementsOfShapes) {
  EXPECT_EQ(ReshapedBy("t = Mul(s, two)"), "float32[?,4,6]");
  EXPECT_EQ(ReshapedBy("t = Mul(s, k)"), "float32[N,4,9]");
  EXPECT_EQ(ReshapedBy("t = Div(s, k)"), "float32[N,1,1]");
  EXPECT_EQ(ReshapedBy("t = Max(s, s)"), "float32[N,2,3]");
  EXPECT_EQ(ReshapedBy("t = Max(s, k)"), "float32[?,2,3]");
  EXPECT_EQ(ReshapedBy("t = Min(s, two)"), "float32[?,2,2]");
}

}  // namespace
}  // namespace quotient::ops
