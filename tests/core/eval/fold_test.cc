#include "core/eval/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/rng.h"
#include "core/eval/evaluator.h"
#include "core/eval/fold_cache.h"
#include "core/model/text.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::eval {
namespace {

using model::Graph;
using testing::Floats;
using testing::HasReason;
using testing::IsOk;
using testing::MustFind;
using testing::MustParse;

// The folded graph as text, or the error.
std::string Folded(absl::string_view text, const FoldLimits& limits = {}) {
  Graph graph = MustParse(text);
  const absl::Status status = FoldConstants(graph, limits);
  if (!status.ok()) return status.ToString();
  EXPECT_OK(model::Validate(graph));
  return model::PrintGraph(graph);
}

// The same form without what is to be folded.
std::string Text(absl::string_view text) {
  Graph graph = MustParse(text);
  EXPECT_OK(ops::InferTypes(graph));
  return model::PrintGraph(graph);
}

TEST(FoldTest, WhatDependsOnConstantsAloneBecomesOne) {
  EXPECT_EQ(Folded(R"(graph g {
    input x: float32[2]
    const a: float32[2] = [1, 2]
    const b: float32[] = [3]
    sum = Add(a, b)
    half = Mul(sum, sum)
    y = Add(x, half)
    output y
  })"),
            Text(R"(graph g {
    input x: float32[2]
    const half: float32[2] = [16, 25]
    y = Add(x, half)
    output y
  })"));
}

TEST(FoldTest, ShapesOfStaticTensorsAreConstants) {
  EXPECT_EQ(Folded(R"(graph g {
    input x: float32[2,3,4]
    const i: int64[] = [1]
    const axes: int64[1] = [0]
    const rest: int64[1] = [-1]
    shape = Shape(x)
    dim = Gather(shape, i)
    dim1 = Unsqueeze(dim, axes)
    target = Concat(dim1, rest) {axis=0}
    y = Reshape(x, target)
    output y
  })"),
            Text(R"(graph g {
    input x: float32[2,3,4]
    y = Reshape(x) {shape=[3,8]}
    output y
  })"));
}

TEST(FoldTest, MasksThatExportersComputeAreFolded) {
  const std::string folded = Folded(R"(graph g {
    input scores: float32[4,4]
    const shape: int64[2] = [4, 4]
    const where: int64[2,1] = [1, 3]
    const rows: float32[2,4] = [1, 1, 1, 1, 1, 1, 1, 1]
    const zero: float32[] = [0]
    const low: float32[] = [-100]
    blank = ConstantOfShape(shape)
    marked = ScatterND(blank, where, rows)
    free = Equal(marked, zero)
    mask = Where(free, zero, low)
    y = Add(scores, mask)
    output y
  })");
  Graph graph = MustParse(folded);
  ASSERT_EQ(graph.nodes.size(), 1u) << folded;
  EXPECT_THAT(graph.value(MustFind(graph, "mask")).constant->AsDoubles(),
              ::testing::ElementsAre(0, 0, 0, 0, -100, -100, -100, -100, 0, 0, 0, 0, -100, -100,
                                     -100, -100));
}

TEST(FoldTest, ForwardsIdentityAndDropoutButKeepsTheNamesOfOutputs) {
  EXPECT_EQ(Folded(R"(graph g {
    input x: float32[2]
    a = Identity(x)
    b = Dropout(a)
    y = Relu(b)
    z = Identity(b)
    output y, z
  })"),
            Text(R"(graph g {
    input x: float32[2]
    y = Relu(x)
    z = Identity(x)
    output y, z
  })"));
}

TEST(FoldTest, AnOpaqueNodeKeepsTheNamesItReads) {
  EXPECT_EQ(Folded(R"(graph g {
    input x: float32[2]
    a = Identity(x)
    y = Opaque "com.acme.Foo" (a)
    output y
  })"),
            Text(R"(graph g {
    input x: float32[2]
    a = Identity(x)
    y = Opaque "com.acme.Foo" (a)
    output y
  })"));
}

TEST(FoldTest, AnOutputMayBeConstant) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[3]
    y = Shape(x)
    output y
  })");
  ASSERT_OK(FoldConstants(graph));
  EXPECT_TRUE(graph.is_constant(graph.outputs[0]));
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
}

// Runtimes look for the DequantizeLinear of weights. What is only run is folded as they would.
TEST(FoldTest, DequantizedWeightsStayInTheModel) {
  constexpr char kText[] = R"(graph g {
    input x: float32[1,2]
    const q: int8[2,2] = [1, 2, 3, 4]
    const f: float32[2,2] = [1, 2.5, -3, 4]
    const s: float32[] = [0.5]
    w = DequantizeLinear(q, s)
    steps = QuantizeLinear(f, s)
    v = DequantizeLinear(steps, s)
    y = MatMul(x, w)
    z = MatMul(y, v)
    output z
  })";
  EXPECT_EQ(Folded(kText), Text(R"(graph g {
    input x: float32[1,2]
    const q: int8[2,2] = [1, 2, 3, 4]
    const s: float32[] = [0.5]
    const steps: uint8[2,2] = [2, 5, 0, 8]
    w = DequantizeLinear(q, s)
    v = DequantizeLinear(steps, s)
    y = MatMul(x, w)
    z = MatMul(y, v)
    output z
  })"));
  EXPECT_EQ(Folded(kText, {.fold_what_stays = true}), Text(R"(graph g {
    input x: float32[1,2]
    const w: float32[2,2] = [0.5, 1, 1.5, 2]
    const v: float32[2,2] = [1, 2.5, 0, 4]
    y = MatMul(x, w)
    z = MatMul(y, v)
    output z
  })"));
}

TEST(FoldTest, DoesNotInflateTheModel) {
  constexpr char kGraph[] = R"(graph g {
    input x: float32[64,64]
    const one: float32[1] = [1]
    const shape: int64[2] = [64, 64]
    big = Expand(one, shape)
    y = Add(x, big)
    output y
  })";
  EXPECT_THAT(Folded(kGraph, {.max_result_bytes = 1000}), ::testing::HasSubstr("Expand("));
  EXPECT_THAT(Folded(kGraph, {.max_result_bytes = 100000}),
              ::testing::Not(::testing::HasSubstr("Expand(")));
}

// Each of these reads what it doubles twice, so no constant of that size is behind it.
TEST(FoldTest, ManyNodesDoNotInflateTheModelEither) {
  std::string text = "graph g {\nconst v0: float32[100] = random(1)\n";
  for (int i = 1; i <= 30; ++i) {
    absl::StrAppend(&text, "n", i, " = Neg(v", i - 1, ")\nv", i, " = Concat(v", i - 1, ", n", i,
                    ") {axis=0}\n");
  }
  Graph graph = MustParse(absl::StrCat(text, "output v30\n}"));
  ASSERT_OK(FoldConstants(graph, {.max_result_bytes = 1000, .max_scratch_bytes = 10'000}));
  int64_t bytes = 0;
  for (const model::Value& value : graph.values) {
    if (value.constant.has_value()) bytes += static_cast<int64_t>(value.constant->bytes().size());
  }
  EXPECT_LE(bytes, 8 * 400 + 10'000);
}

TEST(FoldTest, SeesThroughLargeValuesToSmallOnes) {
  EXPECT_THAT(Folded(R"(graph g {
    input x: float32[]
    const one: float32[1] = [1]
    const shape: int64[2] = [64, 64]
    big = Expand(one, shape)
    sum = ReduceSum(big) {keepdims=0}
    y = Add(x, sum)
    output y
  })",
                     {.max_result_bytes = 1000}),
              ::testing::HasSubstr("[4096]"));
}

TEST(FoldTest, AResultNoLargerThanItsConstantsIsFoldedWhateverItsSize) {
  EXPECT_THAT(Folded(R"(graph g {
    input x: float32[4,100]
    const w: float32[100,50] = random(1)
    const v: float32[100,50] = random(2)
    both = Concat(w, v) {axis=1}
    y = MatMul(x, both)
    output y
  })",
                     {.max_result_bytes = 10}),
              ::testing::Not(::testing::HasSubstr("Concat(")));
}

TEST(FoldTest, SpendsNoMoreThanAllowedOnANode) {
  constexpr char kGraph[] = R"(graph g {
    const a: float32[20,20] = random(1)
    const b: float32[20,20] = random(2)
    y = MatMul(a, b)
    output y
  })";
  EXPECT_THAT(Folded(kGraph, {.max_operations = 7999}), ::testing::HasSubstr("MatMul("));
  EXPECT_THAT(Folded(kGraph, {.max_operations = 8000}),
              ::testing::Not(::testing::HasSubstr("MatMul(")));
}

// 4 positions of a window with 16 taps; 4 input elements that each meet 2 x 3 weights; 3 frames of
// 5 samples that each are in 3 complex numbers.
TEST(FoldTest, CountsWhatWindowsAndTransformsTake) {
  const std::pair<const char*, int64_t> cases[] = {
      {R"(graph g {
    const x: float32[1,1,5,5] = random(1)
    y = MaxPool(x) {kernel_shape=[4,4]}
    output y
  })",
       64},
      {R"(graph g {
    const x: float32[1,2,2] = random(1)
    const w: float32[2,2,3] = random(2)
    y = ConvTranspose(x, w)
    output y
  })",
       24},
      {R"(graph g {
    const x: float32[1,9,1] = random(1)
    y = STFT(x) {frame_step=2, frame_length=5}
    output y
  })",
       90},
  };
  for (const auto& [text, operations] : cases) {
    EXPECT_EQ(MustParse(Folded(text, {.max_operations = operations - 1})).nodes.size(), 1u);
    EXPECT_EQ(MustParse(Folded(text, {.max_operations = operations})).nodes.size(), 0u);
  }
}

TEST(FoldTest, ANodeThatCannotBeEvaluatedStays) {
  EXPECT_THAT(Folded(R"(graph g {
    const table: float32[2] = [1, 2]
    const i: int64[1] = [5]
    y = Gather(table, i)
    output y
  })"),
              ::testing::HasSubstr("Gather("));
}

TEST(FoldTest, SymbolsSurvive) {
  EXPECT_EQ(Folded(R"(graph g {
    input x: float32[N,4]
    shape = Shape(x)
    y = Expand(x, shape)
    z = Shape(y)
    output y, z
  })"),
            Text(R"(graph g {
    input x: float32[N,4]
    y = Expand(x) {shape=[1,4]}
    z = Shape(y)
    output y, z
  })"));
}

TEST(FoldTest, StopsWhenTold) {
  Graph graph = MustParse("graph g {\nconst x: float32[1] = [1]\ny = Neg(x)\noutput y\n}");
  CancelToken token;
  token.Cancel();
  EXPECT_THAT(FoldConstants(graph, {}, StopCondition(&token)), HasReason(Reason::kCancelled));
}

// Random graphs of element-wise and moving operators over constants and inputs: folding changes
// no value.
TEST(FoldTest, ChangesNoValueOfRandomGraphs) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::string text = R"(graph g {
      input v0: float32[3,3]
      const v1: float32[3,3] = random(5)
      const v2: float32[3,3] = random(6)
)";
    const std::vector<std::string> unary = {"Neg", "Tanh", "Transpose", "Identity", "Dropout"};
    const std::vector<std::string> binary = {"Add", "Sub", "Mul", "MatMul", "Max"};
    for (int i = 3; i < 20; ++i) {
      const auto any = [&] { return absl::StrCat("v", rng.Below(static_cast<uint64_t>(i))); };
      if (rng.Below(2) == 0) {
        absl::StrAppend(&text, "v", i, " = ", unary[rng.Below(5)], "(", any(), ")\n");
      } else {
        absl::StrAppend(&text, "v", i, " = ", binary[rng.Below(5)], "(", any(), ", ", any(), ")\n");
      }
    }
    Graph original = MustParse(absl::StrCat(text, "output v17, v18, v19\n}"));
    ASSERT_OK(ops::InferTypes(original));
    Graph folded = original;
    ASSERT_OK(FoldConstants(folded, {.max_result_bytes = static_cast<int64_t>(rng.Below(64))}));
    ASSERT_OK(model::Validate(folded));
    const model::Tensor x = Floats({3, 3}, {0.5, -1, 2, 0, 1, -0.25, 0.125, 3, -2});
    ASSERT_OK_AND_ASSIGN(const ValueMap before,
                         Evaluate(original, {{original.inputs[0], x}}, original.outputs, 1));
    ASSERT_OK_AND_ASSIGN(const ValueMap after,
                         Evaluate(folded, {{folded.inputs[0], x}}, folded.outputs, 1));
    for (size_t i = 0; i < original.outputs.size(); ++i) {
      EXPECT_TRUE(model::SameContent(before.at(original.outputs[i]), after.at(folded.outputs[i])));
    }
  }
}

// A matrix of 64 x 64 numbers, transposed.
Graph Transposed(int seed, absl::string_view perm) {
  return MustParse(
      absl::StrCat("graph g { input x: float32[64,64] const w: float32[64,64] = random(", seed,
                   ") t = Transpose(w) {perm=[", perm, "]} y = Add(x, t) output y }"));
}

const model::Tensor& OnlyConstant(const Graph& graph) {
  return *std::ranges::find_if(graph.values, [](const model::Value& value) {
            return value.constant.has_value();
          })->constant;
}

TEST(FoldTest, WhatWasComputedForAnotherGraphIsShared) {
  FoldCache cache(1 << 20);
  Graph first = Transposed(1, "1, 0"), second = Transposed(1, "1, 0");
  ASSERT_THAT(FoldConstants(first, {.cache = &cache}), IsOk());
  ASSERT_THAT(FoldConstants(second, {.cache = &cache}), IsOk());
  EXPECT_EQ(OnlyConstant(first).bytes().data(), OnlyConstant(second).bytes().data());
}

TEST(FoldTest, WhatIsComputedOtherwiseOrOfOtherConstantsIsNotShared) {
  FoldCache cache(1 << 20);
  Graph first = Transposed(1, "1, 0"), other = Transposed(2, "1, 0"), same = Transposed(1, "0, 1");
  for (Graph* graph : {&first, &other, &same}) {
    Graph alone = *graph;
    ASSERT_THAT(FoldConstants(alone), IsOk());
    ASSERT_THAT(FoldConstants(*graph, {.cache = &cache}), IsOk());
    EXPECT_TRUE(model::SameContent(OnlyConstant(*graph), OnlyConstant(alone)));
  }
}

TEST(FoldTest, ACacheKeepsNoMoreThanItMay) {
  FoldCache cache(64 * 64 * 4);
  Graph first = Transposed(1, "1, 0"), second = Transposed(2, "1, 0"),
        again = Transposed(2, "1, 0");
  for (Graph* graph : {&first, &second, &again}) {
    ASSERT_THAT(FoldConstants(*graph, {.cache = &cache}), IsOk());
  }
  EXPECT_NE(OnlyConstant(second).bytes().data(), OnlyConstant(again).bytes().data());
  EXPECT_TRUE(model::SameContent(OnlyConstant(second), OnlyConstant(again)));
}

}  // namespace
}  // namespace quotient::eval
