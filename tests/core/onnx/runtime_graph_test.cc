#include "core/onnx/runtime_graph.h"

#include <string>
#include <vector>

#include "core/onnx/external_reference.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using quotient::testing::ModelFromText;
using quotient::testing::ParseBytes;
using quotient::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kText[] = R"(<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]>
    g (float[1,16,4,4] x) => (float[1,16,4,4] y) <float[16,16,1,1] w = {1}> {
      y = com.microsoft.FusedConv <activation: string = "Relu", strides: ints = [1,1]>(x, w, "")
    })";

TEST(RuntimeGraphTest, ReadsOperatorsOfARuntime) {
  ASSERT_OK_AND_ASSIGN(const RuntimeGraph graph,
                       ReadRuntimeGraph(ModelFromText(kText).SerializeAsString()));
  EXPECT_THAT(graph.initializers, UnorderedElementsAre("w"));
  ASSERT_THAT(graph.nodes, SizeIs(1));
  const RuntimeNode& node = graph.nodes[0];
  EXPECT_EQ(node.domain, "com.microsoft");
  EXPECT_EQ(node.op, "FusedConv");
  EXPECT_EQ(node.opset, 1);
  ASSERT_TRUE(node.attributes.has_value());
  EXPECT_EQ(node.attributes->GetString("activation", ""), "Relu");
  EXPECT_THAT(node.attributes->GetInts("strides"), ElementsAre(1, 1));
  EXPECT_THAT(node.outputs, ElementsAre("y"));
}

TEST(RuntimeGraphTest, ANodeWithSubgraphsHasNoAttributesThatCouldBeWritten) {
  const auto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = a () => (float[2] t) { t = Neg(x) },
                  else_branch = b () => (float[2] e) { e = Abs(x) }>
    })");
  ASSERT_OK_AND_ASSIGN(const RuntimeGraph graph, ReadRuntimeGraph(model.SerializeAsString()));
  ASSERT_THAT(graph.nodes, SizeIs(1));
  EXPECT_FALSE(graph.nodes[0].attributes.has_value());
}

TEST(RuntimeGraphTest, AnOperatorThatHasNotChangedIsTheSameAtAllOpsets) {
  const auto opset_of = [](int64_t opset, const char* op) {
    auto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 13]>
      g (float[2] x) => (float[2] y) { y = Neg(x) })");
    model.mutable_opset_import(0)->set_version(opset);
    model.mutable_graph()->mutable_node(0)->set_op_type(op);
    const auto graph = ReadRuntimeGraph(model.SerializeAsString());
    EXPECT_OK(graph.status());
    return graph.ok() ? graph->nodes[0].opset : 0;
  };
  EXPECT_EQ(opset_of(14, "LSTM"), 14);
  EXPECT_EQ(opset_of(17, "LSTM"), 14);
  EXPECT_EQ(opset_of(13, "LSTM"), 7);
  EXPECT_EQ(opset_of(9, "Flatten"), 9);
  EXPECT_EQ(opset_of(8, "Flatten"), 7) << "older opsets have other rules for broadcasting";
  EXPECT_EQ(opset_of(6, "Flatten"), 6);
  EXPECT_EQ(opset_of(17, "Unknown"), 17);
  EXPECT_EQ(opset_of(1'000'000'000'000, "LSTM"), 1'000'000'000'000);
}

TEST(RuntimeGraphTest, WhatIsNoModelIsRefused) {
  EXPECT_THAT(ReadRuntimeGraph("no model"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(RuntimeGraphTest, WritesANodeAlone) {
  ASSERT_OK_AND_ASSIGN(const RuntimeGraph graph,
                       ReadRuntimeGraph(ModelFromText(kText).SerializeAsString()));
  const std::vector<int64_t> dims = {1, 16, 4, 4};
  const std::vector<float> zeros(256);
  const ::onnx::ModelProto model = ParseBytes(WriteRuntimeNode(
      graph.nodes[0], {{"x", {model::StaticType(model::DType::kFloat32, dims), std::nullopt}},
                       {"w", {{}, model::Tensor::Floats({16, 16, 1, 1}, zeros)}}}));
  ASSERT_EQ(model.opset_import_size(), 1);
  EXPECT_EQ(model.opset_import(0).domain(), "com.microsoft");
  ASSERT_EQ(model.graph().input_size(), 1);
  EXPECT_EQ(model.graph().input(0).name(), "x");
  ASSERT_EQ(model.graph().initializer_size(), 1);
  const ::onnx::TensorProto& weight = model.graph().initializer(0);
  EXPECT_FALSE(weight.has_raw_data());
  ASSERT_OK_AND_ASSIGN(const ExternalReference reference, ReadExternalReference(weight, "w", {}));
  EXPECT_EQ(reference.location, "w");
  EXPECT_EQ(reference.length, 1024);
  ASSERT_EQ(model.graph().node_size(), 1);
  EXPECT_EQ(model.graph().node(0).attribute_size(), 2);
  ASSERT_EQ(model.graph().output_size(), 1);
  EXPECT_EQ(model.graph().output(0).name(), "y");
}

}  // namespace
}  // namespace quotient::onnx
