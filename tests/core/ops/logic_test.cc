#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/ops/one_node.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TypeOf;
using testing::ValuesOf;

TEST(Logic, ComparesFloats) {
  const char* operands = R"(const a: float32[4] = [1, 2, 3, nan]
                            const b: float32[4] = [2, 2, 2, nan]
                            )";
  EXPECT_THAT(ValuesOf(absl::StrCat(operands, "y = Equal(a, b)")), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(ValuesOf(absl::StrCat(operands, "y = Less(a, b)")), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(ValuesOf(absl::StrCat(operands, "y = LessOrEqual(a, b)")), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(ValuesOf(absl::StrCat(operands, "y = Greater(a, b)")), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(ValuesOf(absl::StrCat(operands, "y = GreaterOrEqual(a, b)")),
              ElementsAre(0, 1, 1, 0));
}

TEST(Logic, ComparesIntegersExactly) {
  EXPECT_THAT(ValuesOf(R"(const a: int64[1] = [9007199254740993]
                          const b: int64[1] = [9007199254740992]
                          y = Equal(a, b))"),
              ElementsAre(0));
  EXPECT_THAT(ValuesOf(R"(const a: uint64[1] = [-1]
                          const b: uint64[1] = [1]
                          y = Less(a, b))"),
              ElementsAre(0));
  EXPECT_THAT(ValuesOf(R"(const a: bool[2] = [0, 1]
                          const b: bool[1] = [1]
                          y = Equal(a, b))"),
              ElementsAre(0, 1));
}

TEST(Logic, CombinesBools) {
  const char* operands = R"(const a: bool[2,1] = [0, 1]
                            const b: bool[2] = [0, 1]
                            )";
  EXPECT_THAT(ValuesOf(absl::StrCat(operands, "y = And(a, b)")), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(ValuesOf(absl::StrCat(operands, "y = Or(a, b)")), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(ValuesOf(absl::StrCat(operands, "y = Xor(a, b)")), ElementsAre(0, 1, 1, 0));
}

TEST(Logic, Types) {
  EXPECT_EQ(TypeOf("input a: float32[N,1]\ninput b: float32[4]\ny = Less(a, b)"), "bool[N,4]");
  EXPECT_THAT(TypeOf("input a: float32[4]\ninput b: float32[4]\ny = And(a, b)"),
              HasSubstr("float32"));
  EXPECT_THAT(TypeOf("input a: bool[4]\ninput b: bool[4]\ny = Less(a, b)"), HasSubstr("bool"));
  EXPECT_THAT(TypeOf("input a: int32[4]\ninput b: int64[4]\ny = Equal(a, b)"),
              HasSubstr("int32 and int64"));
}

// What exporters write before Expand: -1 means "as it is", decided by Where(Equal(shape, -1)).
TEST(Logic, FollowsElementsThroughTheShapesOfExpand) {
  EXPECT_EQ(TypeOf(R"(input x: float32[N,1]
                      input z: float32[N,M]
                      s = Shape(z)
                      const minus: int64[] = [-1]
                      const ones: int64[2] = [1, 1]
                      same = Equal(s, minus)
                      t = Where(same, ones, s)
                      y = Expand(x, t))"),
            "float32[N,M]");
}

TEST(Logic, SymbolsAreEqualOnlyToThemselves) {
  EXPECT_EQ(TypeOf(R"(input x: float32[N,M]
                      s = Shape(x)
                      t = Shape(x)
                      const yes: int64[] = [7]
                      const no: int64[] = [8]
                      same = Equal(s, t)
                      chosen = Where(same, yes, no)
                      y = ConstantOfShape(chosen))"),
            "float32[7,7]");
  EXPECT_EQ(TypeOf(R"(input x: float32[N,M]
                      s = Shape(x)
                      const two: int64[] = [2]
                      const yes: int64[] = [7]
                      const no: int64[] = [8]
                      same = Equal(s, two)
                      chosen = Where(same, yes, no)
                      y = ConstantOfShape(chosen))"),
            "float32[?,?]");
}

}  // namespace
}  // namespace quotient::ops
