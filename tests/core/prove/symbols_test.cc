// Graphs with open sizes mean what the static graph means when the symbols have its sizes.

#include "core/prove/symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/model/text.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/graphs.h"

namespace quotient::prove {
namespace {

const model::Graph& Views() {
  static const auto& graph = *new model::Graph(rules::ParseStatic(R"(graph g {
    input x: float32[2,6,4]
    input y: float32[2,6,4]
    a = Add(x, y)
    b = Reshape(a) {shape=[12,4]}
    c = Slice(b) {axes=[0], ends=[6], starts=[2]}
    z = Expand(c) {shape=[2,4,4]}
    output z
  })"));
  return graph;
}

TEST(WithSymbols, FirstBindsToTheGivenSizesAndThenToOthers) {
  Rng rng(1);
  int made = 0;
  for (int i = 0; i < 100; ++i) {
    const std::optional<SymbolicGraph> symbolic = WithSymbols(Views(), rng);
    if (!symbolic) continue;
    ++made;
    EXPECT_FALSE(IsStatic(symbolic->graph));
    ASSERT_GE(symbolic->bound.size(), 2);
    std::set<std::string> texts;
    for (const model::Graph& bound : symbolic->bound) {
      EXPECT_TRUE(IsStatic(bound));
      EXPECT_EQ(bound.nodes.size(), symbolic->graph.nodes.size());
      texts.insert(model::PrintGraph(bound));
    }
    EXPECT_EQ(texts.size(), symbolic->bound.size());
    const model::Graph& given = symbolic->bound[0];
    for (const model::Value& value : Views().values) {
      EXPECT_EQ(ToString(given.value(testing::MustFind(given, value.name)).type),
                ToString(value.type))
          << value.name << " in\n"
          << model::PrintGraph(symbolic->graph);
    }
  }
  EXPECT_GE(made, 50);
}

TEST(WithSymbols, MakesSumsProductsTargetsAndEmptySizes) {
  Rng rng(2);
  bool sum = false, product = false, computed = false, infers = false, empty = false;
  for (int i = 0; i < 200; ++i) {
    const std::optional<SymbolicGraph> symbolic = WithSymbols(Views(), rng);
    if (!symbolic) continue;
    for (const model::Node& node : symbolic->graph.nodes) {
      const std::string& output = symbolic->graph.value(node.outputs[0]).name;
      sum |= node.op == "Concat" && output == "x";
      product |= node.op == "Reshape" && output == "x";
      computed |= node.op == "Reshape" && output == "b" && node.inputs.size() == 2;
      const model::Ints* shape = node.attributes.FindInts("shape");
      infers |= output == "b" && shape != nullptr && std::ranges::count(*shape, -1) > 0;
    }
    for (const model::Graph& bound : symbolic->bound) {
      empty |= bound.value(bound.inputs[0]).type.elements() == 0;
    }
  }
  EXPECT_TRUE(sum && product && computed && infers && empty)
      << sum << product << computed << infers << empty;
}

TEST(WithSymbols, WhatHasNoSizesIsLeftAlone) {
  Rng rng(3);
  const model::Graph scalars =
      rules::ParseStatic("graph g {\n input x: float32[]\n z = Neg(x)\n output z\n}");
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(WithSymbols(scalars, rng));
}

TEST(InSeveralSizes, BindsEachSymbolOnce) {
  Rng rng(4);
  const model::Graph graph = rules::ParseStatic(
      "graph g {\n input x: float32[N,3]\n input y: float32[N,M]\n z = Transpose(x) {perm=[1,0]}\n"
      " output z\n output y\n}");
  const std::optional<SymbolicGraph> symbolic = InSeveralSizes(graph, rng);
  ASSERT_TRUE(symbolic);
  for (const model::Graph& bound : symbolic->bound) {
    EXPECT_EQ(bound.value(bound.inputs[0]).type.dim(0), bound.value(bound.inputs[1]).type.dim(0));
  }
}

}  // namespace
}  // namespace quotient::prove
