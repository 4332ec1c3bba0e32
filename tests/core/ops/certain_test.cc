#include "core/ops/certain.h"

#include <gtest/gtest.h>

#include <string>

#include "core/ops/op.h"
#include "tests/core/ops/one_node.h"

namespace quotient::ops {
namespace {

using testing::OneNode;
using testing::TypeOf;
using testing::ValuesOf;

// Whether the node of constants may be folded; the reference evaluator must know it in any case.
bool Folds(absl::string_view text) {
  EXPECT_TRUE(testing::Evaluated(text).ok()) << text;
  const model::Graph graph = OneNode(text);
  std::vector<const model::Tensor*> inputs;
  for (model::ValueId id : graph.nodes[0].inputs) inputs.push_back(&*graph.value(id).constant);
  return FoldNode(graph.nodes[0], inputs, /*threads=*/1).ok();
}

bool IsUnderstood(absl::string_view text) {
  const model::Node node = OneNode(text).nodes[0];
  const OpDef* op = FindOp(node.op);
  return op->accepts == nullptr || op->accepts(node);
}

TEST(Certain, ACastFoldsWhereTheTypeHoldsTheNumber) {
  EXPECT_TRUE(Folds("const x: float32[3] = [-0.9, 255.9, 3]\ny = Cast(x) {to=2}"));
  EXPECT_FALSE(Folds("const x: float32[1] = [256]\ny = Cast(x) {to=2}"));
  EXPECT_FALSE(Folds("const x: float32[1] = [-1]\ny = Cast(x) {to=2}"));
  EXPECT_FALSE(Folds("const x: float32[1] = [2147483648]\ny = Cast(x) {to=6}"));
  EXPECT_TRUE(Folds("const x: float32[1] = [-2147483648]\ny = Cast(x) {to=6}"));
  EXPECT_FALSE(Folds("const x: float32[1] = [9223372036854775808]\ny = Cast(x) {to=7}"));
  EXPECT_FALSE(Folds("const x: float32[1] = [nan]\ny = Cast(x) {to=7}"));
  EXPECT_TRUE(Folds("const x: float32[2] = [nan, inf]\ny = Cast(x) {to=9}"));
  EXPECT_TRUE(Folds("const x: float32[1] = [1e30]\ny = Cast(x) {to=10}"));
}

TEST(Certain, ACastOutOfRangeIsEvaluatedAsOnX86) {
  EXPECT_EQ(ValuesOf("const x: float32[4] = [300, -1.5, 3e9, nan]\ny = Cast(x) {to=2}"),
            (std::vector<double>{44, 255, 0, 0}));
  EXPECT_EQ(ValuesOf("const x: float32[3] = [129, 40000, -300.7]\ny = Cast(x) {to=3}"),
            (std::vector<double>{-127, 64, -44}));
  EXPECT_EQ(ValuesOf("const x: float32[3] = [3e9, inf, nan]\ny = Cast(x) {to=6}"),
            (std::vector<double>(3, -0x1p31)));
  EXPECT_EQ(ValuesOf("const x: float32[3] = [1e19, -inf, 5]\ny = Cast(x) {to=7}"),
            (std::vector<double>{-0x1p63, -0x1p63, 5}));
  EXPECT_EQ(ValuesOf("const x: float32[3] = [-1, 4294967296, 4294967040]\ny = Cast(x) {to=12}"),
            (std::vector<double>{4294967295.0, 0, 4294967040.0}));
  EXPECT_EQ(ValuesOf("const x: float64[4] = [-1, 1e19, 2e19, -1e19]\ny = Cast(x) {to=13}"),
            (std::vector<double>{18446744073709551615.0, 1e19, 0, 0x1p63}));
}

TEST(Certain, PowersOfIntegersFoldWhereFloatsAreExact) {
  const std::string base = "const x: int64[2] = [3, -2]\n";
  EXPECT_TRUE(Folds(base + "const e: int64[] = [5]\ny = Pow(x, e)"));
  EXPECT_FALSE(Folds(base + "const e: int64[] = [-1]\ny = Pow(x, e)"));
  EXPECT_FALSE(Folds(base + "const e: float32[] = [0.5]\ny = Pow(x, e)"));
  EXPECT_FALSE(Folds(base + "const e: int64[] = [63]\ny = Pow(x, e)"));
}

TEST(Certain, SumsOfWildFloatsAreLeft) {
  for (const std::string op : {"ReduceSum", "ReduceMax", "Softmax", "GlobalAveragePool"}) {
    EXPECT_TRUE(Folds("const x: float32[1,1,2] = [1, 2]\ny = " + op + "(x)")) << op;
    EXPECT_FALSE(Folds("const x: float32[1,1,2] = [1, inf]\ny = " + op + "(x)")) << op;
    EXPECT_FALSE(Folds("const x: float32[1,1,2] = [1, nan]\ny = " + op + "(x)")) << op;
    EXPECT_FALSE(Folds("const x: float32[1,1,2] = [3e38, 3e38]\ny = " + op + "(x)")) << op;
  }
  EXPECT_FALSE(Folds("const x: float32[4] = [1e30, 1e30, 1e-30, 1e-30]\ny = ReduceProd(x)"));
  EXPECT_FALSE(Folds("const x: float32[1] = [inf]\ny = Sum(x, x, x)"));
  EXPECT_FALSE(Folds("const x: float32[2] = [inf, 1]\ny = CumSum(x) {axis=0}"));
  // One operation on infinities means the same everywhere.
  EXPECT_TRUE(Folds("const x: float32[1] = [inf]\ny = Add(x, x)"));
}

TEST(Certain, IntegersThatOverflowInAReductionAreLeft) {
  EXPECT_TRUE(Folds("const x: int64[2] = [4611686018427, 5]\ny = ReduceSum(x)"));
  EXPECT_FALSE(Folds("const x: int32[2] = [2147483647, 5]\ny = ReduceSum(x)"));
  EXPECT_FALSE(Folds("const x: int64[2] = [9223372036854775807, 2]\ny = ReduceMean(x)"));
  EXPECT_FALSE(Folds("const x: int32[2] = [65536, 65536]\ny = ReduceProd(x)"));
  EXPECT_TRUE(Folds("const x: int32[2] = [46340, 3]\ny = ReduceProd(x)"));
  EXPECT_FALSE(Folds("const x: int32[2] = [46341, 0]\ny = ReduceSumSquare(x)"));
  EXPECT_FALSE(Folds("const x: int32[2] = [3, 4]\ny = ReduceL2(x)"));
  EXPECT_TRUE(Folds("const x: int32[2] = [2147483647, -5]\ny = ReduceMax(x)"));
}

// ONNX Runtime takes -1730394408 for the smallest of these.
TEST(Certain, IntegersThatVectorCodeComparesWronglyAreLeft) {
  const std::string large =
      "const x: int64[4] = [-2821774381, -16668, -1730394408, -657]\nconst z: int64[] = [7]\n";
  EXPECT_FALSE(Folds(large + "y = ReduceMin(x)"));
  EXPECT_FALSE(Folds(large + "y = ReduceMax(x)"));
  EXPECT_FALSE(Folds(large + "y = Min(x, z)"));
  EXPECT_FALSE(Folds(large + "y = Max(x, z)"));
  EXPECT_FALSE(Folds(large + "y = Clip(x, z)"));
  EXPECT_FALSE(Folds(large + "y = Sign(x)"));
  EXPECT_FALSE(Folds("const x: int64[] = [2147483648]\nconst z: int64[] = [5]\ny = Max(x, z)"));
  EXPECT_FALSE(Folds("const x: int64[] = [1]\ny = Clip(x) {max=3029975920.0}"));
  const std::string usual =
      "const x: int64[4] = [2147483647, -2147483648, 9223372036854775807, 5]\n"
      "const z: int64[] = [-9223372036854775808]\n";
  EXPECT_TRUE(Folds(usual + "y = ReduceMin(x)"));
  EXPECT_TRUE(Folds(usual + "y = Max(x, z)"));
  EXPECT_TRUE(Folds("const x: uint32[2] = [2147483648, 5]\ny = ReduceMax(x)"));
}

// ONNX Runtime computes these in doubles.
TEST(Certain, SumsOfIntegersThatMayOverflowAreLeft) {
  const auto folds = [](const char* elements, const char* equation) {
    return Folds(absl::StrCat("const a: int32[2] = [3, -2]\nconst b: int32[2] = ", elements,
                              "\ny = Einsum(a, b) {equation=\"", equation, "\"}"));
  };
  EXPECT_TRUE(folds("[5, -7]", "i,i->"));
  EXPECT_TRUE(folds("[5, -357913941]", "i,i->"));
  EXPECT_FALSE(folds("[5, -357913942]", "i,i->"));
  EXPECT_TRUE(folds("[5, -357913942]", "i,i->i"));
}

TEST(Certain, RemaindersAndRangesOfIntegersBeyondDoublesAreLeft) {
  const std::string large =
      "const x: int64[3] = [9223372036854775807, 9007199254740995, 7]\n"
      "const z: int64[3] = [3, 7, 3]\n";
  EXPECT_FALSE(Folds(large + "y = Mod(x, z) {fmod=1}"));
  EXPECT_TRUE(Folds(large + "y = Mod(x, z)"));
  EXPECT_FALSE(Folds(large + "y = Mod(z, x) {fmod=1}"));
  EXPECT_TRUE(Folds(
      "const x: int64[] = [-9007199254740991]\nconst z: int64[] = [7]\ny = Mod(x, z) {fmod=1}"));
  EXPECT_TRUE(
      Folds("const x: int32[] = [2147483647]\nconst z: int32[] = [-2147483648]\n"
            "y = Mod(x, z) {fmod=1}"));
  EXPECT_EQ(TypeOf("const a: int64[] = [-9223372036854775807]\n"
                   "const b: int64[] = [-9223372036854775801]\nconst two: int64[] = [2]\n"
                   "y = Range(a, b, two)"),
            "int64[?]");
  EXPECT_EQ(TypeOf("const a: int32[] = [-2147483647]\nconst b: int32[] = [2147483647]\n"
                   "const step: int32[] = [1073741824]\ny = Range(a, b, step)"),
            "int32[?]");
}

// ONNX Runtime makes the lowest finite number, or 0, of windows in the padding alone.
TEST(Certain, PoolsOfWindowsThatMayLieInThePaddingAreLeft) {
  const std::string one = "const x: float32[1,1,1] = [3]\n";
  const std::string two = "const x: float32[1,1,2] = [3, 4]\n";
  for (const std::string pool : {"y = MaxPool(x) ", "y = AveragePool(x) "}) {
    EXPECT_FALSE(Folds(one + pool + "{dilations=[2], kernel_shape=[2], pads=[1,1]}")) << pool;
    EXPECT_TRUE(Folds(two + pool + "{dilations=[2], kernel_shape=[2], pads=[1,1]}")) << pool;
    EXPECT_FALSE(Folds(two + pool + "{kernel_shape=[1], pads=[1,0]}")) << pool;
    EXPECT_TRUE(Folds(one + pool + "{kernel_shape=[3], pads=[2,2]}")) << pool;
  }
}

TEST(Certain, WhatCombinesNoElementsIsLeft) {
  EXPECT_FALSE(Folds("const x: float32[3,0] = []\ny = ReduceSum(x) {axes=[1]}"));
  EXPECT_FALSE(Folds("const x: float32[3,0] = []\nconst w: float32[0,2] = []\ny = MatMul(x, w)"));
}

TEST(Certain, ClipOfInfinityWithoutABoundIsLeft) {
  EXPECT_TRUE(Folds("const x: float32[1] = [7]\ny = Clip(x) {min=0.0}"));
  EXPECT_FALSE(Folds("const x: float32[1] = [inf]\ny = Clip(x) {min=0.0}"));
}

TEST(Certain, UpdatesOfOneBlockFoldWhereTheirOrderDoesNotMatter) {
  const std::string text =
      "const x: float32[2] = [1, 2]\nconst u: float32[2] = [3, 4]\n"
      "const same: int64[2,1] = [1, 1]\nconst other: int64[2,1] = [1, 0]\n";
  EXPECT_TRUE(Folds(text + "y = ScatterND(x, other, u)"));
  EXPECT_FALSE(Folds(text + "y = ScatterND(x, same, u)"));
  EXPECT_TRUE(Folds(text + "y = ScatterND(x, same, u) {reduction=\"add\"}"));
  EXPECT_FALSE(Folds(text + "y = ScatterND(x, same, u) {reduction=\"mul\"}"));
}

TEST(Certain, ANearestSampleOnABoundaryIsLeftUnlessItIsExact) {
  const std::string text = "const x: float32[1,1,5] = [1, 2, 3, 4, 5]\n";
  // 5 to 3: the middle one lies at 2, up to the rounding of 3/5.
  EXPECT_FALSE(Folds(text + "y = Resize(x) {nearest_mode=\"floor\", "
                            "coordinate_transformation_mode=\"half_pixel_symmetric\", "
                            "sizes=[1,1,3]}"));
  EXPECT_TRUE(Folds(text + "y = Resize(x) {nearest_mode=\"floor\", "
                           "coordinate_transformation_mode=\"asymmetric\", scales=[1.0,1.0,2.0]}"));
}

TEST(Certain, ANegativeStepUpToTheLargestNumberIsNotUnderstood) {
  const std::string text = "input x: float32[9]\ny = Slice(x) {axes=[0], steps=[-1], starts=[4], ";
  EXPECT_FALSE(IsUnderstood(text + "ends=[9223372036854775807]}"));
  EXPECT_FALSE(IsUnderstood(text + "ends=[2147483647]}"));
  EXPECT_TRUE(IsUnderstood(text + "ends=[-2147483648]}"));
  EXPECT_EQ(TypeOf(text + "ends=[2147483647]}"), "float32[?]");
  EXPECT_EQ(TypeOf(text + "ends=[2147483646]}"), "float32[0]");
}

TEST(Certain, AutoPadWithDilationsOrCeilModeIsNotUnderstoodInPools) {
  const std::string text = "input x: float32[1,1,9]\ny = MaxPool(x) {kernel_shape=[2], ";
  EXPECT_FALSE(IsUnderstood(text + "auto_pad=\"SAME_LOWER\", dilations=[2]}"));
  EXPECT_FALSE(IsUnderstood(text + "auto_pad=\"SAME_UPPER\", ceil_mode=1}"));
  EXPECT_TRUE(IsUnderstood(text + "auto_pad=\"VALID\", dilations=[2], ceil_mode=1}"));
}

}  // namespace
}  // namespace quotient::ops
