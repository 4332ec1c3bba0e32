// Out of the e-graph comes what went in, as long as no rule has been at it.

#include <gtest/gtest.h>

#include "core/model/text.h"
#include "tests/core/domain/choices.h"

namespace quotient::domain {
namespace {

class RoundTripTest : public ::testing::TestWithParam<const char*> {};

TEST_P(RoundTripTest, KeepsTheGraph) {
  const model::Graph graph = Parsed(GetParam());
  const TensorEGraph tensors = Imported(graph);
  ASSERT_OK_AND_ASSIGN(const model::Graph back, ToGraph(tensors, Choose(tensors, false), {}));
  EXPECT_EQ(model::PrintGraph(model::Compact(back)), model::PrintGraph(model::Compact(graph)));
  EXPECT_TRUE(RewritesOf(tensors, Choose(tensors, false)).empty());
}

constexpr const char* kGraphs[] = {
    R"(graph chain {
      input x: float32[2,3]
      a = Relu(x) @first
      b = Tanh(a) @second
      output b
    })",
    R"(graph outputs_and_unused_inputs {
      input x: float32[2,3]
      input unused: int64[4]
      input y: float32[2,3] = [1, 2, 3, 4, 5, 6]
      a = Add(x, y) @add
      output a, x
    })",
    R"(graph split {
      input x: float32[2,6]
      (a, b, c) = Split(x) {axis=1, split=[1,2,3]} @parts
      d = Relu(b) @relu
      output c, a, d
    })",
    R"(graph left_out {
      input x: float32[2,6]
      input high: float32[]
      a = Clip(x, _, high) @clip
      output a
    })",
    R"(graph constants {
      input x: float32[2]
      const w: float32[2] = [1, 2]
      const only_output: float32[1] = [3]
      a = Mul(x, w) @mul
      output a, only_output
    })",
    R"(graph opaque {
      input x: float32[2,3]
      a = Relu(x) @relu
      (b: float32[2,3], c: float32[3]) = Opaque "com.acme.Foo" (a, x) @foo
      d = Add(b, c) @add
      output d, b
    })",
};

INSTANTIATE_TEST_SUITE_P(Graphs, RoundTripTest, ::testing::ValuesIn(kGraphs));

TEST(FromGraph, LeavesDeadNodesOut) {
  const TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2]
    a = Relu(x)
    dead = Tanh(a)
    ghost: float32[2] = Opaque "Foo" (a)
    output a
  })"));
  EXPECT_FALSE(tensors.class_of_value[testing::MustFind(tensors.original, "dead").value()].valid());
  EXPECT_FALSE(
      tensors.class_of_value[testing::MustFind(tensors.original, "ghost").value()].valid());
}

TEST(FromGraph, EqualNodesAreOneButOpaqueOnesAreNot) {
  const TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2]
    const c: float32[2] = [1, 2]
    const same: float32[2] = [1, 2]
    a = Add(x, c)
    b = Add(x, same)
    d: float32[2] = Opaque "Foo" (x)
    e: float32[2] = Opaque "Foo" (x)
    output a, b, d, e
  })"));
  EXPECT_EQ(ClassNamed(tensors, "a"), ClassNamed(tensors, "b"));
  EXPECT_NE(ClassNamed(tensors, "d"), ClassNamed(tensors, "e"));
}

TEST(FromGraph, SplitOfASymbolStaysWhole) {
  model::Graph graph = testing::MustParse(R"(graph g {
    input x: float32[N,2]
    (a, b) = Split(x) {num_outputs=2}
    c = Relu(a)
    output c, b
  })");
  ASSERT_OK(ops::InferTypes(graph));
  ASSERT_OK_AND_ASSIGN(const model::Graph measured, ops::BindShapes(graph, {{"x", {4, 2}}}));
  ASSERT_OK_AND_ASSIGN(const TensorEGraph tensors, FromGraph(graph, measured));
  ASSERT_OK_AND_ASSIGN(const model::Graph back, ToGraph(tensors, Choose(tensors, false), {}));
  EXPECT_EQ(model::PrintGraph(back), model::PrintGraph(graph));
  const ClassData& data = tensors.domain->data(*tensors.egraph, ClassNamed(tensors, "c"));
  EXPECT_EQ(ToString(data.measured), "float32[2,2]");
}

TEST(FromGraph, BehindUnknownShapesNothingIsForRules) {
  const TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[4]
    found: float32[?] = Opaque "Foo" (x)
    same = Identity(found)
    known = Identity(x)
    output same, known
  })"));
  const auto sort_of = [&](absl::string_view value) {
    const ENodeId enode = tensors.egraph->nodes(ClassNamed(tensors, value)).front();
    return tensors.domain->word(tensors.egraph->node(enode).op).sort;
  };
  EXPECT_EQ(sort_of("same"), OpWord::Sort::kOutput) << "nobody could check what a rule makes of it";
  EXPECT_EQ(sort_of("known"), OpWord::Sort::kOperator);
}

TEST(FromGraph, RefusesAMeasuredGraphThatDiffers) {
  const model::Graph graph = Parsed("graph g {\n input x: float32[2]\n a = Relu(x)\n output a\n}");
  EXPECT_THAT(FromGraph(graph, model::Graph()), testing::HasReason(Reason::kInternal));
}

}  // namespace
}  // namespace quotient::domain
