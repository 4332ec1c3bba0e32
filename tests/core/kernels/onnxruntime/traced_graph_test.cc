#include "core/kernels/onnxruntime/helper/traced_graph.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

void AddInitializer(const std::string& name, int64_t size, ::onnx::GraphProto* graph) {
  ::onnx::TensorProto& tensor = *graph->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(::onnx::TensorProto::FLOAT);
  tensor.add_dims(size);
  tensor.set_raw_data(std::string(static_cast<size_t>(4 * size), 'x'));
}

// y = x + small + large, with m in between.
::onnx::ModelProto Model() {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  ::onnx::GraphProto& graph = *model.mutable_graph();
  graph.add_input()->set_name("x");
  graph.add_output()->set_name("y");
  AddInitializer("small", 1, &graph);
  AddInitializer("large", 1000, &graph);
  for (const auto& [output, inputs] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"m", {"x", "small"}}, {"y", {"m", "large"}}}) {
    ::onnx::NodeProto& node = *graph.add_node();
    node.set_op_type("Add");
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
  }
  return model;
}

TEST(TracedGraphTest, AllValuesAreOutputsOnce) {
  const std::string original = Model().SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const TracedGraph traced, TraceGraph(original));
  EXPECT_THAT(traced.values, UnorderedElementsAre("x", "small", "large", "m", "y"));
  ::onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(original + traced.more_outputs));
  std::vector<std::string> outputs;
  for (const auto& output : model.graph().output()) outputs.push_back(output.name());
  EXPECT_THAT(outputs, UnorderedElementsAre("x", "small", "large", "m", "y"));
  EXPECT_EQ(model.graph().node_size(), 2);
  EXPECT_EQ(model.graph().initializer(1).raw_data().size(), 4000u);
}

TEST(TracedGraphTest, TheOutlineHasNoLargeData) {
  ASSERT_OK_AND_ASSIGN(const TracedGraph traced, TraceGraph(Model().SerializeAsString()));
  ::onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(traced.outline));
  EXPECT_EQ(model.ir_version(), 8);
  ASSERT_EQ(model.graph().output_size(), 1);
  ASSERT_EQ(model.graph().initializer_size(), 2);
  EXPECT_EQ(model.graph().initializer(0).raw_data().size(), 4u);
  EXPECT_EQ(model.graph().initializer(1).name(), "large");
  EXPECT_THAT(model.graph().initializer(1).dims(), ElementsAre(1000));
  EXPECT_FALSE(model.graph().initializer(1).has_raw_data());
}

TEST(TracedGraphTest, WhatIsNoModelIsRefused) {
  EXPECT_THAT(TraceGraph("no model"), StatusIs(absl::StatusCode::kInvalidArgument));
  std::string cut = Model().SerializeAsString();
  cut.resize(cut.size() - 1);
  EXPECT_THAT(TraceGraph(cut), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
