#include "core/ops/infer_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

// What the file says of a value, beside what inference finds.
Graph Declared(Graph graph, const std::map<std::string, std::string>& types) {
  for (const auto& [name, type] : types) {
    graph.value(MustFind(graph, name)).declared = *model::ParseTensorType(type);
  }
  return graph;
}

TEST(InferTypesTest, WhatAGraphKnowsOfAValueIsRefined) {
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

TEST(InferTypesTest, AContradictionIsAnError) {
  Graph graph = MustParse(R"(graph g {
    input x: float32[2,3]
    y: float32[2,4] = Relu(x) @bad
    output y
  })");
  EXPECT_THAT(InferTypes(graph), HasReason(Reason::kModelShape, HasSubstr("'bad'")));
}

// An export whose inputs were made dynamic afterwards.
TEST(InferTypesTest, DeclaredDimensionsNarrowNothing) {
  Graph graph = Declared(MustParse(R"(graph g {
    input x: float32[N,S,8]
    const target: int64[2] = [-1,8]
    r = Relu(x)
    y = Reshape(r, target)
    output y
  })"),
                         {{"r", "float32[1,S,8]"}, {"y", "float32[4,8]"}});
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "r"), "float32[N,S,8]");
  EXPECT_EQ(TypeOf(graph, "y"), "float32[?(N*S),8]");
  EXPECT_TRUE(StaleDeclarations(graph).empty());  // what is declared may be so
}

TEST(InferTypesTest, DeclaredSymbolsEquateNothing) {
  Graph graph = Declared(MustParse(R"(graph g {
    input x: float32[N,3]
    a = Opaque "com.acme.Foo" (x)
    b = Relu(a)
    y = Relu(x)
    output b, y
  })"),
                         {{"a", "float32[N,3]"}, {"b", "float32[N,3]"}, {"y", "float32[batch,3]"}});
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "a"), "float32[*]");  // of that operator only the element type is known
  EXPECT_EQ(TypeOf(graph, "b"), "float32[*]");
  EXPECT_EQ(TypeOf(graph, "y"), "float32[N,3]");
}

TEST(InferTypesTest, ContradictedDeclarationsAreToldOf) {
  std::string text = "graph g {\ninput x: float32[2,3]\n";
  std::map<std::string, std::string> types;
  for (int i = 0; i < 7; ++i) {
    absl::StrAppend(&text, "y", i, " = Relu(x)\noutput y", i, "\n");
    types[absl::StrCat("y", i)] = i == 0 ? "float32[2]" : "float32[4,3]";
  }
  Graph graph = Declared(MustParse(absl::StrCat(text, "}")), types);
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "y0"), "float32[2,3]");
  const std::vector<std::string> stale = StaleDeclarations(graph, /*most=*/3);
  ASSERT_EQ(stale.size(), 4u);
  EXPECT_THAT(stale[0], HasSubstr("'y0' is declared as float32[2], but is float32[2,3]"));
  EXPECT_THAT(stale[3], HasSubstr("4 more"));
}

// ONNX Runtime refuses to load such a model, too.
TEST(InferTypesTest, AnotherElementTypeIsAnError) {
  Graph graph = Declared(MustParse(R"(graph g {
    input x: float32[2]
    y = Relu(x)
    output y
  })"),
                         {{"y", "int64[2]"}});
  EXPECT_THAT(InferTypes(graph), HasReason(Reason::kModelShape, HasSubstr("'y'")));
}

TEST(InferTypesTest, UnknownDimensionsEqualOnlyThemselves) {
  Graph graph = MustParse(R"(graph g {
    input a: float32[?,?]
    input b: float32[?,4]
    input s: int64[2]
    c = Relu(a)
    same = Add(a, c)
    other = Add(a, b)
    r = Reshape(a, s)
    t = Transpose(r) {perm=[1,0]}
    output same, other, t
  })");
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "same"), "float32[?a.0,?a.1]");
  EXPECT_EQ(TypeOf(graph, "other"), "float32[?other.0,4]");
  EXPECT_EQ(TypeOf(graph, "t"), "float32[?r.1,?r.0]");
}

TEST(InferTypesTest, LongNamesStayOutOfTypes) {
  const std::string name(3000, 'x');
  Graph graph = MustParse(
      absl::StrCat("graph g {\ninput ", name, ": float32[?]\ny = Relu(", name, ")\noutput y\n}"));
  ASSERT_OK(InferTypes(graph));
  EXPECT_LT(TypeOf(graph, "y").size(), 100u);
}

// How an opaque node's types follow is its own matter; here: as its first operand's, of another
// element type.
Graph WithOpaqueTypes() {
  Graph graph = MustParse(R"(graph g {
    input x: float32[N,3]
    s = Shape(x)
    q = Opaque "Quantize" (x, s)
    output q
  })");
  auto opaque = std::make_shared<model::Opaque>(*graph.nodes[1].opaque);
  opaque->infer_types = [](const model::Opaque&, std::span<const model::OpaqueOperand> operands,
                           size_t outputs) {
    std::vector<model::TensorType> types(outputs, *operands[0].type);
    types[0].dtype = model::DType::kInt8;
    if (operands[1].constant != nullptr)
      types[0].shape->push_back(operands[1].constant->AsInts()[0]);
    if (operands[1].elements != nullptr) types[0].shape->push_back((*operands[1].elements)[0]);
    return types;
  };
  graph.nodes[1].opaque = std::move(opaque);
  return graph;
}

TEST(InferTypesTest, OpaqueNodesInferTheirOwnTypes) {
  Graph graph = WithOpaqueTypes();
  ASSERT_OK(InferTypes(graph));
  EXPECT_EQ(TypeOf(graph, "q"), "int8[N,3,N]");
  ASSERT_OK_AND_ASSIGN(const Graph bound, BindShapes(WithOpaqueTypes(), {{"x", {7, 3}}}));
  EXPECT_EQ(TypeOf(bound, "q"), "int8[7,3,7,7]");
}

TEST(BindShapesTest, DeclaredNumbersStandInForWhatIsNotKnown) {
  const Graph graph = Declared(MustParse(R"(graph g {
    input x: float32[N,3]
    h = Opaque "com.acme.Foo" (x)
    a = Relu(h)
    r = Relu(x)
    output a, r
  })"),
                               {{"h", "float32[N,5]"}, {"r", "float32[1,3]"}});
  ASSERT_OK_AND_ASSIGN(const Graph bound, BindShapes(graph, {{"x", {2, 3}}}));
  EXPECT_EQ(TypeOf(bound, "r"), "float32[2,3]");
  EXPECT_EQ(TypeOf(bound, "a"), "float32[2,5]");
  Graph for_good = graph;
  ASSERT_OK(SetShapes({{"x", {2, 3}}}, for_good));
  EXPECT_EQ(TypeOf(for_good, "r"), "float32[2,3]");
  EXPECT_EQ(TypeOf(for_good, "a"), "float32[*]");
}

// The end of the Slice is an input, so what is declared holds for some values of it alone.
TEST(BindShapesTest, DeclaredNumbersDoNotStandInForWhatFollowsFromValues) {
  const Graph graph = Declared(MustParse(R"(graph g {
    input x: float32[4,8]
    input end: int64[1]
    const zero: int64[1] = [0]
    s = Slice(x, zero, end)
    y = Relu(s)
    output y
  })"),
                               {{"s", "float32[1,8]"}});
  ASSERT_OK_AND_ASSIGN(const Graph bound, BindShapes(graph, {}));
  EXPECT_FALSE(bound.value(bound.outputs[0]).type.is_static());
}

TEST(BindShapesTest, DeclaredNumbersThatMakeNoSenseAreForgotten) {
  const Graph graph = Declared(MustParse(R"(graph g {
    input x: float32[N,3]
    h = Opaque "com.acme.Foo" (x)
    y = Add(h, x)
    output y
  })"),
                               {{"h", "float32[4,3]"}});
  ASSERT_OK_AND_ASSIGN(const Graph fits, BindShapes(graph, {{"x", {4, 3}}}));
  EXPECT_EQ(TypeOf(fits, "y"), "float32[4,3]");
  ASSERT_OK_AND_ASSIGN(const Graph differs, BindShapes(graph, {{"x", {2, 3}}}));
  EXPECT_EQ(TypeOf(differs, "h"), "float32[*]");
}

// `y` adds `rows` rows to as many as an opaque node yields.
Graph WithUnknownRows(int rows) {
  Graph graph = MustParse(absl::StrCat("graph g { input x: float32[", rows, R"(,3]
    h = Opaque "com.acme.Foo" (x)
    y = Add(h, x)
    output y
  })"));
  auto opaque = std::make_shared<model::Opaque>(*graph.nodes[0].opaque);
  opaque->infer_types = [](const model::Opaque&, std::span<const model::OpaqueOperand>, size_t) {
    return std::vector<model::TensorType>{{model::DType::kFloat32, model::Shape{model::Dim(), 3}}};
  };
  graph.nodes[0].opaque = std::move(opaque);
  return graph;
}

TEST(BindShapesTest, SizesThatOnlyARunCanTellAreAssumed) {
  ASSERT_OK_AND_ASSIGN(const Graph assumed, BindShapes(WithUnknownRows(1), {}));
  EXPECT_EQ(TypeOf(assumed, "y"), "float32[16,3]");
  // 16 rows and 5 cannot be added.
  ASSERT_OK_AND_ASSIGN(const Graph unknown, BindShapes(WithUnknownRows(5), {}));
  EXPECT_FALSE(unknown.value(MustFind(unknown, "h")).type.is_static());
}

TEST(NodesThatFitTest, CountsNodesBeforeTheFirstThatRefusesOrBecomesEmpty) {
  const Graph graph = [] {
    Graph parsed = MustParse(R"(graph g {
      input x: float32[1,1,L]
      const w: float32[1,1,256] = random(1)
      r = Relu(x)
      y = Conv(r, w)
      z = Slice(y) {starts=[1], ends=[4], axes=[2]}
      output z
    })");
    EXPECT_OK(InferTypes(parsed));
    return parsed;
  }();
  const auto fit = [&graph](int64_t length) {
    const absl::StatusOr<size_t> nodes = NodesThatFit(graph, {{"x", {1, 1, length}}});
    return nodes.ok() ? static_cast<int>(*nodes) : -1;
  };
  EXPECT_EQ(fit(128), 1);
  EXPECT_EQ(fit(256), 2);  // the slice of one element is empty
  EXPECT_EQ(fit(512), 3);
  EXPECT_THAT(NodesThatFit(graph, {{"x", {2, 1, 512}}}).status(),
              HasReason(Reason::kOptionInvalid, HasSubstr("'x'")));
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
  EXPECT_EQ(TypeOf(graph, "y2"), "float32[?min(?min(N,9),9)]");
  EXPECT_LT(TypeOf(graph, "y2000").size(), 300u);
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
  EXPECT_EQ(TypeOf(graph, "y"), "float32[?y.0,3]");
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
  EXPECT_EQ(TypeOf(graph, "y"), "float32[?y.0]");
}

}  // namespace
}  // namespace quotient::ops
