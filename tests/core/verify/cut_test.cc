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

// An opaque node that reads eight elements of a type that is not computed with.
CutGraph CutWithConstant(std::vector<int64_t> dims, std::byte last) {
  const std::vector<int64_t> two = {2};
  model::Graph graph;
  const auto x = graph.AddInput("x", model::StaticType(model::DType::kFloat32, two));
  std::span<std::byte> bytes;
  model::Tensor tensor = model::Tensor::Allocate(model::DType::kInt4, std::move(dims), &bytes);
  bytes.back() = last;
  const auto c = graph.AddConstant("c", std::move(tensor));
  const auto t = graph.AddValue("t", model::StaticType(model::DType::kFloat32, two));
  graph.AddNode({.op = model::kOpaqueOp,
                 .inputs = {x, c},
                 .outputs = {t},
                 .opaque = std::make_shared<model::Opaque>()});
  graph.outputs = {t};
  const absl::StatusOr<CutGraph> cut = Cut(graph);
  EXPECT_TRUE(cut.ok()) << cut.status();
  return *cut;
}

TEST(CutTest, AConstantThatIsOnlyLinkedMustBeWhatItWas) {
  const CutGraph original = CutWithConstant({8}, std::byte{1});
  EXPECT_FALSE(FindLack(original, CutWithConstant({8}, std::byte{1})).has_value());
  EXPECT_TRUE(FindLack(original, CutWithConstant({8}, std::byte{2})).has_value());
  EXPECT_TRUE(FindLack(original, CutWithConstant({2, 4}, std::byte{1})).has_value());
}

}  // namespace
}  // namespace quotient::verify
