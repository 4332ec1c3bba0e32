#include "core/ops/infer_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using model::Graph;
using testing::HasReason;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::MustFind;
using testing::MustParse;

std::string TypeOf(const Graph& graph, absl::string_view name) {
  return model::ToString(graph.value(MustFind(graph, name)).type);
}

TEST(InferTypesTest, ADeclaredTypeFillsInWhatInferenceCannotKnow) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[2,3]
    input s: int64[2]
    r: float32[3,2] = Reshape(x, s)
    y = Relu(r)
    output y
  })");
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "y"), "float32[3,2]");
}

TEST(InferTypesTest, InnerSymbolsAreTheInputsAndOutputsKeepTheirs) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[batch,3]
    r: float32[r_dim_0,3] = Relu(x)
    y: float32[N,3] = Relu(r)
    output y
  })");
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "r"), "float32[batch,3]");
  EXPECT_EQ(TypeOf(graph, "y"), "float32[N,3]");
}

TEST(InferTypesTest, AWrongDeclarationIsRefused) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[2,3]
    y: float32[2,4] = Relu(x) @bad
    output y
  })");
  EXPECT_THAT(InferTypes(graph), HasReason(Reason::kModelShape, HasSubstr("'bad'")));
}

TEST(InferTypesTest, BehindAnOpaqueNodeDeclarationsCount) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[2,3]
    a: float32[4,5] = Opaque "com.acme.Foo" (x)
    b = Opaque "com.acme.Bar" (x)
    y = Relu(a)
    z = Relu(b)
    output y, z
  })");
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "y"), "float32[4,5]");
  EXPECT_EQ(TypeOf(graph, "z"), "undefined[*]");
}

TEST(InferTypesTest, KnowsTheTypesBehindQuantizationAndRecurrence) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[steps,N,5]
    const scale: float32[] = [0.5]
    const zero: uint8[] = [7]
    const w: float32[2,12,5] = random(1)
    const r: float32[2,12,3] = random(2)
    q = Opaque "QuantizeLinear" (x, scale, zero)
    d = Opaque "DequantizeLinear" (q, scale, zero)
    (y, h, c) = Opaque "LSTM" (d, w, r)
    other = Opaque "com.acme.LSTM" (d, w, r)
    output y, h, c, other
  })");
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "q"), "uint8[steps,N,5]");
  EXPECT_EQ(TypeOf(graph, "d"), "float32[steps,N,5]");
  EXPECT_EQ(TypeOf(graph, "y"), "float32[steps,2,N,3]");
  EXPECT_EQ(TypeOf(graph, "c"), "float32[2,N,3]");
  EXPECT_EQ(TypeOf(graph, "other"), "undefined[*]");
}

TEST(BindShapesTest, AStaleDeclarationGivesWay) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, BindShapes(MustParse(R"(graph g {
    input x: float32[N,3]
    h: float32[1,3] = Opaque "com.acme.Foo" (x)
    a: float32[1,3] = Relu(h)
    r: float32[1,3] = Relu(x)
    output a, r
  })"),
                                                     {{"x", {2, 3}}}));
  EXPECT_EQ(TypeOf(graph, "r"), "float32[2,3]");
  EXPECT_EQ(TypeOf(graph, "a"), "float32[1,3]");
}

constexpr char kTwoInputs[] = R"(graph g {
  input x: float32[N,S,4]
  input mask: float32[N,S]
  shape = Shape(mask)
  const last: int64[1] = [4]
  target = Concat(shape, last) {axis=0}
  y = Expand(x, target)
  output y
})";

TEST(BindShapesTest, ASymbolIsBoundEverywhere) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, BindShapes(MustParse(kTwoInputs), {{"x", {2, 7, 4}}}));
  EXPECT_EQ(TypeOf(graph, "mask"), "float32[2,7]");
  EXPECT_EQ(TypeOf(graph, "y"), "float32[2,7,4]");
}

TEST(BindShapesTest, LeavesTheOriginalAlone) {
  const Graph original = MustParse(kTwoInputs);
  ASSERT_OK(BindShapes(original, {{"x", {2, 7, 4}}}));
  EXPECT_EQ(TypeOf(original, "x"), "float32[N,S,4]");
}

TEST(BindShapesTest, OpaqueOutputsAreBoundToo) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, BindShapes(MustParse(R"(graph g {
    input x: float32[N,3]
    h: float32[N,5] = Opaque "com.acme.Foo" (x)
    y = Relu(h)
    output y
  })"),
                                                     {{"x", {2, 3}}}));
  EXPECT_EQ(TypeOf(graph, "y"), "float32[2,5]");
}

TEST(BindShapesTest, RefusesWhatDoesNotFit) {
  const Graph graph = MustParse(kTwoInputs);
  using Shapes = std::map<std::string, std::vector<int64_t>>;
  const std::pair<Shapes, const char*> cases[] = {
      {{{"z", {1}}}, "no input 'z'"},
      {{{"x", {2, 7}}}, "rank"},
      {{{"x", {2, 7, 5}}}, "dimension 2 of input 'x'"},
      {{{"x", {-2, 7, 4}}}, "cannot be -2"},
      {{{"x", {2, 7, 4}}, {"mask", {3, 7}}}, "'N' cannot be both"},
  };
  for (const auto& [shapes, message] : cases) {
    EXPECT_THAT(BindShapes(graph, shapes), HasReason(Reason::kOptionInvalid, HasSubstr(message)));
  }
}

// Gather's rank is the sum of two ranks: thirty nodes could ask for one of a billion.
TEST(InferTypesTest, RanksAreBounded) {
  std::string text = "graph g {\ninput r0: int64[1,1]\n";
  for (int i = 1; i <= 30; ++i) {
    absl::StrAppend(&text, "r", i, " = Gather(r", i - 1, ", r", i - 1, ")\n");
  }
  Graph graph = MustParse(absl::StrCat(text, "output r30\n}"));
  EXPECT_THAT(InferTypes(graph),
              HasReason(Reason::kLimitDims, HasSubstr("'r6': an output of rank 65")));
}

TEST(InferTypesTest, SymbolsDoNotGrowWithTheGraph) {
  std::string text = "graph g {\ninput x: float32[N]\nconst zero: int64[1] = [0]\nv0 = Shape(x)\n";
  for (int i = 1; i <= 2000; ++i) {
    absl::StrAppend(&text, "const w", i, ": float32[9] = random(1)\ny", i, " = Slice(w", i,
                    ", zero, v", i - 1, ")\nv", i, " = Shape(y", i, ")\n");
  }
  Graph graph = MustParse(absl::StrCat(text, "output v2000\n}"));
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "y2"), "float32[min(min(N,9),9)]");
  EXPECT_LT(TypeOf(graph, "y2000").size(), 10'000u);
}

// An axis without elements has no last one to begin at; one beside it can be as long as a number.
TEST(InferTypesTest, EmptyTensorsAreSlicedAndSplitLikeOthers) {
  Graph graph = MustParse(R"(graph g {
    input none: float32[0]
    input x: float32[0,9223372036854775807]
    backwards = Slice(none) {starts=[-1], ends=[-9], axes=[0], steps=[-1]}
    (a, b) = Split(x) {axis=1}
    output backwards, a, b
  })");
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "backwards"), "float32[0]");
  EXPECT_EQ(TypeOf(graph, "a"), "float32[0,4611686018427387904]");
  EXPECT_EQ(TypeOf(graph, "b"), "float32[0,4611686018427387903]");
}

// Neither starts nor ends are known here, so that steps alone say how many axes are sliced.
TEST(InferTypesTest, ASliceOfFewerAxesThanThereAre) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[5,3]
    input starts: int64[1]
    input ends: int64[1]
    const steps: int64[1] = [-2]
    y = Slice(x, starts, ends, _, steps)
    output y
  })");
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "y"), "float32[?,3]");
}

// 32-bit arithmetic wraps, so beyond its numbers nothing is known.
TEST(InferTypesTest, ElementsThatLeaveTheirTypeAreNotKnown) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[1]
    const big: int32[1] = [2147483647]
    const one: int32[1] = [1]
    sum = Add(big, one)
    same = Add(sum, one)
    y = Expand(x, same)
    output y
  })");
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "y"), "float32[?]");
}

}  // namespace
}  // namespace quotient::ops
