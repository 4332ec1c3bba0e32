#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/ops/one_node.h"

namespace quotient::ops {
namespace {

using testing::AttributesOf;
using ::testing::ElementsAre;
using testing::TypeOf;
using testing::ValuesOf;

// Whether the node of constants may be folded.
bool Folds(absl::string_view text) {
  const model::Graph graph = testing::OneNode(text);
  std::vector<const model::Tensor*> inputs;
  for (model::ValueId id : graph.nodes[0].inputs) inputs.push_back(&*graph.value(id).constant);
  return FoldNode(graph.nodes[0], inputs, /*threads=*/1).ok();
}

// What ONNX Runtime 1.32 gives.
TEST(QuantizeTest, HalvesRoundToEvenAndTheEndsSaturate) {
  const std::string x =
      "const x: float32[10] = [0.5, 1.5, 2.5, -0.5, 0.49999997, 300, -300, inf, -inf, nan]\n"
      "const s: float32[] = [1]\n";
  EXPECT_THAT(ValuesOf(x + "const z: uint8[] = [3]\ny = QuantizeLinear(x, s, z)"),
              ElementsAre(3, 5, 5, 3, 3, 255, 0, 255, 0, 0));
  EXPECT_THAT(ValuesOf(x + "const z: int8[] = [3]\ny = QuantizeLinear(x, s, z)"),
              ElementsAre(3, 5, 5, 3, 3, 127, -128, 127, -128, -128));
  EXPECT_THAT(ValuesOf(x + "const z: int16[] = [3]\ny = QuantizeLinear(x, s, z)"),
              ElementsAre(3, 5, 5, 3, 3, 303, -297, 32767, -32768, -32768));
}

// Over the float32 next to 0.1, the double quotients are 3.4999999, 8.5000001 and 9.4999997.
TEST(QuantizeTest, TheQuotientIsRoundedToFloat32First) {
  EXPECT_THAT(ValuesOf("const x: float32[3] = [0.35, 0.85, 0.95]\nconst s: float32[] = [0.1]\n"
                       "y = QuantizeLinear(x, s)"),
              ElementsAre(4, 8, 10));
}

TEST(QuantizeTest, AnAxisHasScalesOfItsOwn) {
  constexpr char kRows[] = R"(const x: float32[2,3] = [1, 2, 3, 1, 2, 3]
                              const s: float32[3] = [1, 0.5, 0.25]
                              const z: uint8[3] = [0, 1, 2]
                              y = QuantizeLinear(x, s, z))";
  EXPECT_THAT(ValuesOf(kRows), ElementsAre(1, 5, 14, 1, 5, 14));
  EXPECT_THAT(ValuesOf(R"(const x: int8[2,2] = [1, 2, -3, -4]
                          const s: float32[2] = [0.5, 2]
                          y = DequantizeLinear(x, s) {axis=-2})"),
              ElementsAre(0.5, 1, -6, -8));
  EXPECT_THAT(ValuesOf(R"(const x: int8[2,2] = [1, 2, -3, -4]
                          const s: float32[1] = [0.5]
                          y = DequantizeLinear(x, s))"),
              ElementsAre(0.5, 1, -1.5, -2))
      << "one scale serves all, whatever the axis";
}

TEST(QuantizeTest, DifferencesOfLargeIntegersAreRoundedOnce) {
  EXPECT_THAT(ValuesOf("const x: int32[2] = [16777217, -2147483648]\nconst s: float32[] = [0.5]\n"
                       "y = DequantizeLinear(x, s)"),
              ElementsAre(8388608, -1073741824));
  EXPECT_THAT(ValuesOf("const x: uint8[2] = [0, 255]\nconst s: float16[] = [0.5]\n"
                       "const z: uint8[] = [128]\ny = DequantizeLinear(x, s, z)"),
              ElementsAre(-64, 63.5));
}

TEST(QuantizeTest, TypesFollowFromZeroPointAndScale) {
  constexpr char kInputs[] = "input x: float32[N,3]\ninput q: int8[N,3]\n";
  const auto type = [&](absl::string_view rest) { return TypeOf(absl::StrCat(kInputs, rest)); };
  EXPECT_EQ(type("const s: float32[] = [1]\ny = QuantizeLinear(x, s)"), "uint8[N,3]");
  EXPECT_EQ(type("const s: float32[] = [1]\nconst z: int16[] = [1]\ny = QuantizeLinear(x, s, z)"),
            "int16[N,3]");
  EXPECT_EQ(type("const s: float16[] = [1]\ny = DequantizeLinear(q, s)"), "float16[N,3]");
  EXPECT_THAT(type("const s: float32[2] = [1, 2]\ny = QuantizeLinear(x, s)"),
              ::testing::HasSubstr("input 1 of shape [2] has no element for each of 3"));
  EXPECT_THAT(type("const s: float32[1,2] = [1, 2]\ny = QuantizeLinear(x, s)"),
              ::testing::HasSubstr("is no vector"));
  EXPECT_THAT(
      type("const s: float32[] = [1]\nconst z: int8[2] = [1, 2]\ny = QuantizeLinear(x, s, z)"),
      ::testing::HasSubstr("one scale, but 2 zero points"));
  EXPECT_EQ(TypeOf("input v: int8[4]\ninput z: int8[M]\nconst s: float32[1] = [1]\n"
                   "y = DequantizeLinear(v, s, z)"),
            "float32[4]");
  EXPECT_THAT(
      type("const s: float32[] = [1]\nconst z: uint8[] = [1]\ny = DequantizeLinear(q, s, z)"),
      ::testing::HasSubstr("zero point is of another type"));
}

TEST(QuantizeTest, TheAxisGoesWhereItMeansNothing) {
  const std::string x = "input x: float32[2,3,4]\n";
  EXPECT_EQ(AttributesOf(x + "const s: float32[] = [1]\ny = QuantizeLinear(x, s) {axis=2}"), "");
  EXPECT_EQ(AttributesOf(x + "const s: float32[3] = [1,1,1]\ny = QuantizeLinear(x, s) {axis=-2}"),
            "");
  EXPECT_EQ(AttributesOf(x + "const s: float32[4] = [1,1,1,1]\ny = QuantizeLinear(x, s) {axis=-1}"),
            "{axis=2}");
}

TEST(QuantizeTest, OnlyWhatAllRuntimesAgreeOnFolds) {
  const std::string s = "const s: float32[] = [0.1]\n";
  EXPECT_TRUE(Folds(s + "const x: float32[2] = [1, -2]\ny = QuantizeLinear(x, s)"));
  EXPECT_FALSE(Folds(s + "const x: float32[2] = [1, nan]\ny = QuantizeLinear(x, s)"));
  EXPECT_FALSE(
      Folds("const s: float32[] = [0]\nconst x: float32[1] = [1]\n"
            "y = QuantizeLinear(x, s)"));
  EXPECT_FALSE(
      Folds("const s: float16[] = [0.1]\nconst x: float16[1] = [1]\n"
            "y = QuantizeLinear(x, s)"));
}

TEST(QuantizeTest, DequantizedWeightsStay) {
  EXPECT_TRUE(FindOp("DequantizeLinear")->stays_in_model);
  EXPECT_FALSE(FindOp("QuantizeLinear")->stays_in_model);
}

}  // namespace
}  // namespace quotient::ops
