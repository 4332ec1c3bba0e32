#include "core/kernels/onnxruntime/kernel_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/kernels/attention.h"
#include "core/kernels/fusion.h"
#include "core/kernels/onnxruntime/random_floats.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Operand Floats(std::vector<int64_t> dims, bool constant = false) {
  return {model::StaticType(model::DType::kFloat32, dims), constant};
}
constexpr bool kConstant = true;

KernelSpec Spec(const char* op, std::vector<Operand> inputs, std::vector<int64_t> output) {
  return {.op = op, .inputs = std::move(inputs), .outputs = {Floats(std::move(output))}};
}

KernelGraph GraphFor(const KernelSpec& spec) {
  absl::StatusOr<KernelGraph> built = GraphOfKernel(spec);
  EXPECT_OK(built.status());
  return *std::move(built);
}

std::vector<std::string> OpsOf(const KernelGraph& built) {
  std::vector<std::string> ops;
  for (const model::Node& node : built.graph.nodes) ops.push_back(node.op);
  return ops;
}

// The value that a node of the graph reads.
const model::Value& InputOf(const KernelGraph& built, size_t node, size_t index) {
  return built.graph.value(built.graph.nodes[node].inputs[index]);
}

TEST(KernelGraphTest, ActivationsAreInputsWithTensorsOfTheirTypes) {
  const KernelGraph built = GraphFor(Spec("Add", {Floats({4, 8}), Floats({8})}, {4, 8}));
  EXPECT_THAT(OpsOf(built), ElementsAre("Add"));
  ASSERT_THAT(built.graph.inputs, SizeIs(2));
  ASSERT_THAT(built.inputs, SizeIs(2));
  EXPECT_EQ(built.inputs[0].dims(), (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(built.inputs[1].dims(), (std::vector<int64_t>{8}));
  EXPECT_EQ(built.constant_bytes, 0);
  ASSERT_THAT(built.graph.outputs, SizeIs(1));
  EXPECT_EQ(ToString(built.graph.value(built.graph.outputs[0]).type), "float32[4,8]");
}

TEST(KernelGraphTest, ConstantsAreWeightsOfTheGraphAndCounted) {
  const KernelGraph built = GraphFor(
      Spec("Gemm", {Floats({4, 8}), Floats({8, 5}, kConstant), Floats({5}, kConstant)}, {4, 5}));
  EXPECT_THAT(built.graph.inputs, SizeIs(1));
  EXPECT_THAT(built.inputs, SizeIs(1));
  EXPECT_EQ(built.constant_bytes, (8 * 5 + 5) * 4);
  const model::Tensor& weight = *InputOf(built, 0, 1).constant;
  double largest = 0;
  for (const double value : weight.AsDoubles()) largest = std::max(largest, std::abs(value));
  EXPECT_GT(largest, kMostWeight / 2);
  EXPECT_LE(largest, kMostWeight);
}

TEST(KernelGraphTest, EqualSpecsAreEqualGraphs) {
  const KernelSpec spec = Spec("MatMul", {Floats({4, 8}), Floats({8, 5}, kConstant)}, {4, 5});
  const KernelGraph a = GraphFor(spec), b = GraphFor(spec);
  EXPECT_EQ(model::GraphDigest(a.graph), model::GraphDigest(b.graph));
  EXPECT_EQ(a.inputs[0].AsDoubles(), b.inputs[0].AsDoubles());
}

TEST(KernelGraphTest, EpiloguesAreNodesBehindTheMainOne) {
  KernelSpec spec = Spec("MatMul", {Floats({4, 8}), Floats({8, 5}, kConstant)}, {4, 5});
  spec.epilogue.push_back({.op = "Add", .operands = {Floats({5}, kConstant)}});
  spec.epilogue.push_back({.op = "LeakyRelu", .attributes = {{"alpha", 0.25}}});
  spec.epilogue.push_back({.op = "Sub", .operands = {Floats({4, 5})}, .running_is_second = true});
  const KernelGraph built = GraphFor(spec);
  ASSERT_THAT(OpsOf(built), ElementsAre("MatMul", "Add", "LeakyRelu", "Sub"));
  EXPECT_EQ(built.constant_bytes, (8 * 5 + 5) * 4);
  EXPECT_THAT(built.inputs, SizeIs(2));
  const auto& nodes = built.graph.nodes;
  EXPECT_EQ(nodes[1].inputs[0], nodes[0].outputs[0]);
  EXPECT_TRUE(InputOf(built, 1, 1).constant.has_value());
  EXPECT_EQ(nodes[2].attributes.GetFloat("alpha", 0), 0.25);
  EXPECT_EQ(nodes[3].inputs[0], built.graph.inputs[1]);
  EXPECT_EQ(nodes[3].inputs[1], nodes[2].outputs[0]);
  EXPECT_THAT(built.graph.outputs, ElementsAre(nodes[3].outputs[0]));
}

// No operator has an attribute of this name. It says what the constant is.
TEST(KernelGraphTest, AnExponentIsTheValueOfItsConstant) {
  KernelSpec spec = Spec("Pow", {Floats({4, 8}), Floats({}, kConstant)}, {4, 8});
  spec.attributes.Set(kExponentAttribute, 3.0);
  const KernelGraph main = GraphFor(spec);
  EXPECT_FALSE(main.graph.nodes[0].attributes.Has(kExponentAttribute));
  EXPECT_THAT(InputOf(main, 0, 1).constant->AsDoubles(), ElementsAre(3));

  spec = Spec("Tanh", {Floats({4, 8})}, {4, 8});
  spec.epilogue.push_back({.op = "Pow",
                           .attributes = {{kExponentAttribute, 0.5}},
                           .operands = {Floats({1}, kConstant)}});
  const KernelGraph behind = GraphFor(spec);
  EXPECT_FALSE(behind.graph.nodes[1].attributes.Has(kExponentAttribute));
  EXPECT_THAT(InputOf(behind, 1, 1).constant->AsDoubles(), ElementsAre(0.5));
}

TEST(KernelGraphTest, WhatIsLeftOutStaysSo) {
  KernelSpec spec = Spec("Split", {Floats({6, 4})}, {2, 4});
  spec.attributes.Set("split", model::Ints{2, 2, 2});
  spec.outputs.push_back(Operand());
  spec.outputs.push_back(Floats({2, 4}));
  const KernelGraph split = GraphFor(spec);
  ASSERT_THAT(split.graph.nodes[0].outputs, SizeIs(3));
  EXPECT_FALSE(split.graph.nodes[0].outputs[1].valid());
  EXPECT_THAT(split.graph.outputs,
              ElementsAre(split.graph.nodes[0].outputs[0], split.graph.nodes[0].outputs[2]));
}

TEST(KernelGraphTest, IndicesAreInRange) {
  KernelSpec spec = Spec("Gather", {Floats({3, 4})}, {50, 4});
  spec.inputs.push_back({model::StaticType(model::DType::kInt64, std::vector<int64_t>{50})});
  const KernelGraph built = GraphFor(spec);
  ASSERT_THAT(built.inputs, SizeIs(2));
  for (const double index : built.inputs[1].AsDoubles()) {
    EXPECT_GE(index, -3);
    EXPECT_LT(index, 3);
  }
}

TEST(KernelGraphTest, WhatIsNoOperatorIsRefused) {
  EXPECT_THAT(GraphOfKernel(Spec(kReorderOp, {Floats({2, 4, 5, 7})}, {2, 4, 5, 7})),
              StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(GraphOfKernel(Spec(kAttentionOp, {Floats({2, 3, 4})}, {2, 3, 4})),
              StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
