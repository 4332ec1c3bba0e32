// Names, Splits and aliases of graphs that rules have changed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/domain/splits.h"
#include "core/model/text.h"
#include "tests/core/domain/choices.h"

namespace quotient::domain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const NamedRule kRule("some-rule");
const egraph::Rule* const kRules[] = {&kRule};

// Adds op(children) as rule 1 would and makes it equal to `root`.
ClassId Rewrite(TensorEGraph& tensors, ClassId root, absl::string_view op,
                std::vector<ClassId> children, model::AttributeMap attributes = {}) {
  const auto made = tensors.domain->Add(*tensors.egraph, op, std::move(attributes), children, 1);
  EXPECT_THAT(made, testing::IsOk());
  if (root.valid()) {
    EXPECT_THAT(tensors.egraph->Union(root, *made, 1), testing::IsOk());
  }
  return *made;
}

std::vector<std::string> NodeNames(const model::Graph& graph) {
  std::vector<std::string> names;
  for (const model::Node& node : graph.nodes) names.push_back(node.name);
  return names;
}

std::vector<std::string> OutputNames(const model::Graph& graph) {
  std::vector<std::string> names;
  for (const model::ValueId id : graph.outputs) names.push_back(graph.value(id).name);
  return names;
}

TEST(ToGraph, NewNodesAreNamedAfterTheSiteAndTheRule) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2]
    a = Relu(x) @first
    b = Tanh(a) @second
    output b
  })"));
  const ClassId x = ClassNamed(tensors, "x");
  const ClassId inner = Rewrite(tensors, ClassId(), "Abs", {x});
  Rewrite(tensors, ClassNamed(tensors, "b"), "Sigmoid", {inner});
  ASSERT_OK(tensors.egraph->Rebuild());
  ASSERT_OK_AND_ASSIGN(const model::Graph graph, ToGraph(tensors, Choose(tensors, true), kRules));
  EXPECT_THAT(NodeNames(graph),
              ElementsAre("second_quotient_some-rule", "second_quotient_some-rule_2"));
  EXPECT_THAT(OutputNames(graph), ElementsAre("b"));
}

TEST(ToGraph, OutputsThatBecameOneKeepBothNames) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2]
    a = Relu(x) @first
    b = Tanh(x) @second
    output a, b
  })"));
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "a"), ClassNamed(tensors, "b"), 1));
  ASSERT_OK(tensors.egraph->Rebuild());
  ASSERT_OK_AND_ASSIGN(const model::Graph graph, ToGraph(tensors, Choose(tensors, false), kRules));
  EXPECT_THAT(OutputNames(graph), ElementsAre("a", "b"));
  ASSERT_EQ(graph.nodes.size(), 2);
  EXPECT_EQ(graph.nodes[0].op, "Relu");
  EXPECT_EQ(graph.nodes[1].op, "Identity");
}

TEST(ToGraph, OutputThatBecameAnInputOrAConstantKeepsItsName) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2]
    const c: float32[2] = [1, 2]
    a = Relu(x)
    d = Mul(x, c)
    e = Tanh(d)
    output a, e, d
  })"));
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "a"), ClassNamed(tensors, "x"), 1));
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "e"), ClassNamed(tensors, "c"), 1));
  ASSERT_OK(tensors.egraph->Rebuild());
  ASSERT_OK_AND_ASSIGN(const model::Graph graph, ToGraph(tensors, Choose(tensors, false), kRules));
  EXPECT_THAT(OutputNames(graph), ElementsAre("a", "e", "d"));
  EXPECT_EQ(graph.value(graph.inputs[0]).name, "x");
  EXPECT_TRUE(graph.is_constant(graph.outputs[1]));
}

TEST(ToGraph, CapturedNamesSurvive) {
  model::Graph original = Parsed(R"(graph g {
    input x: float32[2]
    a = Relu(x) @captured
    b: float32[2] = Opaque "If" (x, a) @branch
    output b
  })");
  auto payload = std::make_shared<model::Opaque>(*original.nodes[1].opaque);
  payload->first_captured_input = 1;
  original.nodes[1].opaque = payload;
  TensorEGraph tensors = Imported(original);
  Rewrite(tensors, ClassNamed(tensors, "a"), "Abs", {ClassNamed(tensors, "x")});
  ASSERT_OK(tensors.egraph->Rebuild());
  ASSERT_OK_AND_ASSIGN(const model::Graph graph, ToGraph(tensors, Choose(tensors, true), kRules));
  ASSERT_EQ(graph.nodes.size(), 2);
  EXPECT_EQ(graph.nodes[0].op, "Abs");
  EXPECT_EQ(graph.value(graph.nodes[1].inputs[1]).name, "a");
}

TEST(ToGraph, CapturedValueThatBecameAnInputGetsAnAlias) {
  model::Graph original = Parsed(R"(graph g {
    input x: float32[2]
    a = Relu(x)
    b: float32[2] = Opaque "If" (x, a)
    output b
  })");
  auto payload = std::make_shared<model::Opaque>(*original.nodes[1].opaque);
  payload->first_captured_input = 1;
  original.nodes[1].opaque = payload;
  TensorEGraph tensors = Imported(original);
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "a"), ClassNamed(tensors, "x"), 1));
  ASSERT_OK(tensors.egraph->Rebuild());
  ASSERT_OK_AND_ASSIGN(const model::Graph graph, ToGraph(tensors, Choose(tensors, false), kRules));
  ASSERT_EQ(graph.nodes.size(), 2);
  EXPECT_EQ(graph.nodes[0].op, "Identity");
  EXPECT_EQ(graph.value(graph.nodes[1].inputs[0]).name, "x");
  EXPECT_EQ(graph.value(graph.nodes[1].inputs[1]).name, "a");
}

TEST(ToGraph, SlicesThatTileBecomeOneSplit) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2,6]
    a = Slice(x) {starts=[2], ends=[6], axes=[1]} @high
    b = Slice(x) {starts=[0], ends=[2], axes=[1]} @low
    c = Slice(x) {starts=[0], ends=[1], axes=[0]} @row
    d = Concat(b, a) {axis=1}
    output d, c
  })"));
  ASSERT_OK_AND_ASSIGN(const model::Graph graph, ToGraph(tensors, Choose(tensors, false), kRules));
  const auto split = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [](const model::Node& node) { return node.op == "Split"; });
  ASSERT_NE(split, graph.nodes.end());
  EXPECT_EQ(split->attributes.GetInts("split"), (model::Ints{2, 4}));
  EXPECT_EQ(graph.value(split->outputs[0]).name, "b");
  EXPECT_EQ(graph.value(split->outputs[1]).name, "a");
  EXPECT_EQ(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                          [](const model::Node& node) { return node.op == "Slice"; }),
            1);
}

TEST(ToGraph, PartsThatOverlapStaySlices) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[6]
    a = Slice(x) {starts=[0], ends=[4], axes=[0]}
    b = Slice(x) {starts=[3], ends=[6], axes=[0]}
    output a, b
  })"));
  ASSERT_OK_AND_ASSIGN(const model::Graph graph, ToGraph(tensors, Choose(tensors, false), kRules));
  EXPECT_EQ(graph.nodes[0].op, "Slice");
  EXPECT_EQ(graph.nodes[1].op, "Slice");
}

TEST(ToGraph, SplitWithAnUnusedPartBecomesSlices) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[6]
    (a, b, c) = Split(x) {split=[1,2,3]} @parts
    output a, c
  })"));
  ASSERT_OK_AND_ASSIGN(const model::Graph graph, ToGraph(tensors, Choose(tensors, false), kRules));
  EXPECT_THAT(NodeNames(graph), ElementsAre("parts_quotient_slice", "parts_quotient_slice_2"));
  EXPECT_THAT(OutputNames(graph), ElementsAre("a", "c"));
}

// Who knows costs may say so.
TEST(ToGraph, ASplitMayHavePartsThatNobodyUses) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[9]
    (a, b, c) = Split(x) {split=[1,2,6]} @parts
    d = Slice(x) {starts=[1], ends=[5], axes=[0]} @first
    e = Slice(x) {starts=[6], ends=[8], axes=[0]} @second
    output a, c, d, e
  })"));
  const std::vector<ENodeId> choice = Choose(tensors, false);
  std::vector<ENodeId> slices;
  for (const char* const name : {"a", "c", "d", "e"}) {
    slices.push_back(choice[ClassNamed(tensors, name).value()]);
  }
  const std::vector<Split> splits = FindSplits(tensors, slices);
  ASSERT_OK_AND_ASSIGN(const model::Graph graph, ToGraph(tensors, choice, kRules, splits));
  EXPECT_THAT(NodeNames(graph), ElementsAre("parts", "first_quotient_slice"));
  EXPECT_EQ(graph.nodes[0].attributes.GetInts("split"), (model::Ints{1, 2, 6}));
  EXPECT_EQ(graph.nodes[1].attributes.GetInts("split"), (model::Ints{1, 4, 1, 2, 1}));
  // Kernels want to know all types.
  const model::ValueId unused = graph.nodes[1].outputs[0];
  EXPECT_EQ(ToString(graph.value(unused).type), "float32[1]");
}

TEST(ToGraph, TellsWhichValuesAreEqual) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2]
    a = Relu(x) @first
    b = Relu(a) @second
    c = Tanh(b) @third
    d = Exp(c) @last
    output d
  })"));
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "b"), ClassNamed(tensors, "a"), 1));
  const ClassId inner = Rewrite(tensors, ClassId(), "Abs", {ClassNamed(tensors, "b")});
  Rewrite(tensors, ClassNamed(tensors, "c"), "Sigmoid", {inner});
  ASSERT_OK(tensors.egraph->Rebuild());
  std::vector<ENodeId> choice = Choose(tensors, false);
  const ClassId c = ClassNamed(tensors, "c");
  choice[c.value()] = Choose(tensors, true)[c.value()];
  EqualNames names;
  ASSERT_OK_AND_ASSIGN(const model::Graph graph, ToGraph(tensors, choice, kRules, {}, &names));
  ASSERT_THAT(NodeNames(graph), ElementsAre("first", "third_quotient_some-rule",
                                            "third_quotient_some-rule_2", "last"));
  // What only the result has is known by its own name.
  EXPECT_THAT(names.shared,
              UnorderedElementsAre(Pair("b", "a"), Pair("third_quotient_some-rule_2", "c")));
  EXPECT_EQ(names.of_class[c.value()], "c");
  EXPECT_EQ(names.of_class[tensors.egraph->Find(inner).value()], "third_quotient_some-rule");
}

TEST(ToGraph, RefusesCyclesAndGaps) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2]
    a = Relu(x)
    b = Abs(a)
    output b
  })"));
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "a"), ClassNamed(tensors, "b"), 1));
  ASSERT_OK(tensors.egraph->Rebuild());
  // The class holds Relu(x) and Abs of itself.
  EXPECT_THAT(ToGraph(tensors, Choose(tensors, true), kRules),
              testing::HasReason(Reason::kInternal, HasSubstr("depends on itself")));
  const std::vector<ENodeId> nothing(tensors.egraph->class_bound());
  EXPECT_THAT(ToGraph(tensors, nothing, kRules),
              testing::HasReason(Reason::kInternal, HasSubstr("no e-node")));
}

TEST(Describe, TellsWhatFoldsAndWhatRuns) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2,3]
    const w: float32[3,4] = random(1)
    e = Exp(w)
    y = MatMul(x, e)
    z: float32[2,4] = Opaque "Foo" (y)
    output z
  })"));
  const auto describe = [&](absl::string_view value) {
    return Describe(tensors, tensors.egraph->nodes(ClassNamed(tensors, value)).front());
  };
  EXPECT_TRUE(describe("x").free);
  EXPECT_TRUE(describe("e").free);
  const ENodeDescription matmul = describe("y");
  EXPECT_FALSE(matmul.free);
  EXPECT_EQ(matmul.word->name, "MatMul");
  ASSERT_EQ(matmul.inputs.size(), 2);
  EXPECT_FALSE(matmul.inputs[0].constant);
  EXPECT_TRUE(matmul.inputs[1].constant);
  EXPECT_EQ(ToString(matmul.output.measured), "float32[2,4]");
  EXPECT_TRUE(describe("z").free) << "a projection; the opaque node itself is what runs";
}

}  // namespace
}  // namespace quotient::domain
