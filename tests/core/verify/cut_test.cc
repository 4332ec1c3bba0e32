#include "core/verify/cut.h"

#include <gtest/gtest.h>

#include "core/model/text.h"
#include "core/ops/infer_graph.h"

namespace quotient::verify {
namespace {

CutGraph CutOf(absl::string_view text) {
  model::Graph graph = *model::ParseGraph(text);
  EXPECT_TRUE(ops::InferTypes(graph).ok());
  auto cut = Cut(graph);
  EXPECT_TRUE(cut.ok()) << cut.status();
  return *std::move(cut);
}

TEST(CutTest, WithoutOpaqueNodesNothingIsCut) {
  const CutGraph cut = CutOf(R"(graph g {
      input x: float32[2]
      const c: float32[2] = [1, 2]
      y = Add(x, c)
      output y })");
  EXPECT_EQ(cut.cut_nodes, 0);
  EXPECT_EQ(cut.input_keys, (std::vector<std::string>{"input x"}));
  EXPECT_EQ(cut.output_keys, (std::vector<std::string>{"output y"}));
  EXPECT_EQ(cut.graph.nodes.size(), 1u);
}

TEST(CutTest, OpaqueNodesBecomeInputsAndOutputs) {
  const CutGraph cut = CutOf(R"(graph g {
      input x: float32[2]
      a = Relu(x)
      (b: float32[3], unread: float32[1]) = Opaque "Foo" (a, x)
      y = Neg(b)
      output y })");
  EXPECT_EQ(cut.cut_nodes, 1);
  EXPECT_EQ(cut.input_keys, (std::vector<std::string>{"input x", "node b output 0"}));
  EXPECT_EQ(cut.output_keys,
            (std::vector<std::string>{"node b input 0", "node b input 1", "output y"}));
  EXPECT_EQ(cut.graph.nodes.size(), 2u);
}

TEST(CutTest, WhatHasNoStaticTypeIsCutToo) {
  const CutGraph cut = CutOf(R"(graph g {
      input x: float32[2]
      a = Relu(x)
      b: float32[*] = Opaque "Foo" (a)
      c = Neg(b)
      d = Exp(c)
      y = Abs(a)
      output d, y })");
  EXPECT_EQ(cut.cut_nodes, 3);
  EXPECT_EQ(cut.output_keys, (std::vector<std::string>{"node b input 0", "output y"}));
  EXPECT_EQ(cut.graph.nodes.size(), 2u);
}

TEST(CutTest, DeadNodesDoNotCount) {
  const CutGraph cut = CutOf(R"(graph g {
      input x: float32[2]
      dead = Opaque "Foo" (x)
      y = Abs(x)
      output y })");
  EXPECT_EQ(cut.cut_nodes, 0);
  EXPECT_EQ(cut.output_keys, (std::vector<std::string>{"output y"}));
}

TEST(CutTest, OutputsThatAreInputsOrConstants) {
  const CutGraph cut = CutOf(R"(graph g {
      input x: float32[2]
      const c: float32[1] = [5]
      output x, c, x })");
  EXPECT_EQ(cut.output_keys, (std::vector<std::string>{"output x", "output c"}));
}

}  // namespace
}  // namespace quotient::verify
