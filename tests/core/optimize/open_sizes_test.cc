#include "core/optimize/open_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

model::Graph Typed(absl::string_view text) {
  model::Graph graph = testing::MustParse(text);
  EXPECT_THAT(ops::InferTypes(graph), testing::IsOk());
  return graph;
}

// Nothing reads u.
constexpr char kText[] = R"(graph g {
  input x: float32[N,S,8]
  input y: float32[N,1,8]
  input u: float32[A,B]
  z = Add(x, y)
  output z
})";

TEST(OpenSizesTest, EachSymbolThatIsReadIsListedOnce) {
  const model::Graph graph = Typed(kText);
  const ops::InputShapes nothing_asked;
  const OpenSizes open(graph, nothing_asked);
  ASSERT_EQ(open.list().size(), 2u);
  EXPECT_EQ(open.list()[0].symbol, "N");
  EXPECT_EQ(open.list()[0].assumed, kAssumedBatch);
  EXPECT_EQ(open.list()[1].symbol, "S");
  EXPECT_EQ(open.list()[1].axis, 1);
  EXPECT_EQ(open.list()[1].assumed, 128);
  EXPECT_EQ(open.Names(), "'N' of input 'x', 'S' of input 'x'");
  EXPECT_THAT(open.ShapesWith({2, 7}), UnorderedElementsAre(Pair("x", ElementsAre(2, 7, 8)),
                                                            Pair("y", ElementsAre(2, 1, 8))));
  EXPECT_THAT(open.Notes({2, 7}),
              ElementsAre("dimension 'N' of input 'x' was taken as 2 for measuring",
                          "dimension 'S' of input 'x' was taken as 7 for measuring"));
}

TEST(OpenSizesTest, WhatIsAskedOfOneInputHoldsForTheOthers) {
  const model::Graph graph = Typed(kText);
  const ops::InputShapes asked = {{"x", {3, 5, 8}}};
  const OpenSizes open(graph, asked);
  EXPECT_THAT(open.list(), IsEmpty());
  EXPECT_THAT(open.bound(), UnorderedElementsAre(Pair("N", 3), Pair("S", 5)));
  EXPECT_THAT(open.ShapesWith({}), UnorderedElementsAre(Pair("x", ElementsAre(3, 5, 8)),
                                                        Pair("y", ElementsAre(3, 1, 8))));
}

}  // namespace
}  // namespace quotient::optimize
