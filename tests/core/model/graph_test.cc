#include "core/model/graph.h"

#include <gtest/gtest.h>

#include "core/base/reason.h"
#include "core/model/text.h"
#include "tests/support/graphs.h"

namespace quotient::model {
namespace {

using testing::MustFind;

Graph Diamond() {
  return *ParseGraph(R"(graph g {
    input x: float32[2]
    input unused: float32[1]
    const c: float32[2] = [1, 2]
    a = Relu(x)
    b = Add(a, c)
    dead = Neg(b)
    y = Mul(a, b)
    output y
  })");
}

TEST(GraphTest, WhatNoOutputDependsOnIsDead) {
  EXPECT_EQ(LiveNodes(Diamond()), (std::vector<bool>{true, true, false, true}));
}

TEST(GraphTest, CompactDropsTheDeadAndKeepsInputs) {
  const Graph compact = Compact(Diamond());
  EXPECT_EQ(compact.nodes.size(), 3u);
  EXPECT_EQ(compact.inputs.size(), 2u);
  for (const Value& value : compact.values) EXPECT_NE(value.name, "dead");
  EXPECT_TRUE(Validate(compact).ok());
}

TEST(GraphTest, DigestIgnoresInnerNamesOnly) {
  Graph a = Diamond(), b = Diamond();
  b.value(MustFind(b, "a")).name = "renamed";
  EXPECT_EQ(GraphDigest(a), GraphDigest(b));
  b.value(MustFind(b, "y")).name = "z";
  EXPECT_NE(GraphDigest(a), GraphDigest(b));
  Graph c = Diamond();
  c.nodes[0].attributes.Set("alpha", 1.0);
  EXPECT_NE(GraphDigest(a), GraphDigest(c));
}

// Each case breaks one promise of graph.h.
TEST(ValidateTest, NamesWhatIsBroken) {
  const auto message = [](auto damage) {
    Graph graph = Diamond();
    damage(graph);
    return std::string(Validate(graph).message());
  };
  EXPECT_EQ(message([](Graph&) {}), "");
  EXPECT_NE(message([](Graph& g) { g.value(MustFind(g, "a")).name = "x"; }).find("'x'"),
            std::string::npos);
  EXPECT_NE(message([](Graph& g) { g.nodes[0].inputs = {ValueId(99)}; }).find("Relu"),
            std::string::npos);
  EXPECT_NE(message([](Graph& g) { g.nodes[0].inputs = {MustFind(g, "b")}; }).find("only later"),
            std::string::npos);
  EXPECT_NE(message([](Graph& g) { g.outputs = {ValueId(1000)}; }).find("output"),
            std::string::npos);
  EXPECT_NE(message([](Graph& g) { g.value(MustFind(g, "c")).type = TensorType(); }).find("'c'"),
            std::string::npos);
  EXPECT_NE(message([](Graph& g) { g.nodes[0].op = kOpaqueOp; }).find("payload"),
            std::string::npos);
  EXPECT_NE(
      message([](Graph& g) { g.value(MustFind(g, "b")).producer = NodeId(0); }).find("producer"),
      std::string::npos);
}

TEST(ValidateTest, CycleHasItsOwnReason) {
  Graph graph = Diamond();
  graph.nodes[0].inputs = {MustFind(graph, "y")};
  EXPECT_EQ(GetReason(Validate(graph)), Reason::kModelCyclic);
}

TEST(AttributeTest, CanonicalTextAndEquality) {
  AttributeMap a = {{"pads", Ints{1, 1}}, {"alpha", 1.0}, {"mode", std::string("x\"y")}};
  AttributeMap b = {{"mode", std::string("x\"y")}, {"alpha", 1.0}, {"pads", Ints{1, 1}}};
  EXPECT_EQ(a, b);
  EXPECT_EQ(ToString(a), "{alpha=1.0, mode=\"x\\\"y\", pads=[1,1]}");
  b.Set("alpha", int64_t{1});
  EXPECT_NE(a, b);
  b.Erase("alpha");
  EXPECT_FALSE(b.Has("alpha"));
  EXPECT_EQ(b.GetFloat("alpha", 7), 7);
  EXPECT_EQ(a.GetInts("pads"), (Ints{1, 1}));
  EXPECT_EQ(ToString(AttributeMap{{"e", Floats{}}}), "{e=floats[]}");
}

}  // namespace
}  // namespace quotient::model
