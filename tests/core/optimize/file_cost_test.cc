// What files cost in ONNX Runtime, which optimizes them by itself.

#include "core/optimize/file_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/kernels/kernel_spec.h"
#include "core/timing/memory_store.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using testing::IsOk;

// Two convolutions of 16 channels, and what is written between them; `k` has a factor for each
// channel.
std::string Model(const std::string& between) {
  ::onnx::ModelProto model =
      testing::ModelAtOpset(17, "g (float[1,16,8,8] x) => (float[1,16,8,8] y) { c = Conv(x, w) " +
                                    between + " y = Conv(r, w) }");
  ::onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
  weight.set_name("w");
  weight.set_data_type(::onnx::TensorProto::FLOAT);
  for (const int64_t dim : {16, 16, 1, 1}) weight.add_dims(dim);
  weight.mutable_raw_data()->resize(16 * 16 * sizeof(float));
  ::onnx::TensorProto& factor = *model.mutable_graph()->add_initializer();
  factor.set_name("k");
  factor.set_data_type(::onnx::TensorProto::FLOAT);
  for (const int64_t dim : {16, 1, 1}) factor.add_dims(dim);
  for (int i = 0; i < 16; ++i) factor.add_float_data(static_cast<float>(i + 2));
  return model.SerializeAsString();
}

// A model that was read, and what it costs.
struct Costed {
  Prepared prepared;
  std::optional<cost::GraphCost> cost;
};

class FileCostTest : public ::testing::Test {
 protected:
  Costed CostOn(const std::string& device_name, const std::string& bytes) {
    Costed costed;
    absl::StatusOr<Prepared> prepared =
        Prepare({.name = "m.onnx", .model = bytes}, {}, /*threads=*/1, {});
    EXPECT_THAT(prepared.status(), IsOk());
    costed.prepared = *std::move(prepared);
    const auto device = devices_.Get(device_name, 1);
    EXPECT_THAT(device.status(), IsOk());
    costed.cost = CostOfFile(**device, {.model = bytes, .external_data = {}, .owner = nullptr},
                             costed.prepared, NewFileCostContext(costed.prepared, /*seed=*/1),
                             [] { return StopCondition(); });
    return costed;
  }

  static std::vector<std::string> Keys(const cost::GraphCost& cost) {
    std::vector<std::string> keys;
    for (const kernels::KernelGroup& group : cost.groups) {
      keys.push_back(kernels::KernelKey(group.spec));
    }
    std::ranges::sort(keys);
    return keys;
  }

  const std::unique_ptr<timing::TimingStore> store_ = timing::NewMemoryStore();
  timing::Lane lane_;
  Devices devices_{{.store = store_.get(), .lane = &lane_}};
};

TEST_F(FileCostTest, ItIsTheSumOfTheKernelsOfTheRuntime) {
  const Costed costed = CostOn("onnxruntime", Model("r = Relu(c)"));
  ASSERT_TRUE(costed.cost.has_value());
  const cost::GraphCost& cost = *costed.cost;
  ASSERT_EQ(cost.groups.size(), 4u) << "two changes of the layout, and a Conv with the Relu";
  double sum = 0;
  for (const cost::KernelCost& kernel : cost.costs) {
    EXPECT_EQ(kernel.source, cost::CostSource::kMeasured);
    sum += kernel.us;
  }
  EXPECT_GT(sum, 0);
  EXPECT_DOUBLE_EQ(cost.total_us, sum);
}

TEST_F(FileCostTest, AFusedKernelBeginsWithTheNodeWhoseOperatorItIs) {
  const Costed costed = CostOn("onnxruntime", Model("r = Relu(c)"));
  ASSERT_TRUE(costed.cost.has_value());
  const model::Graph& graph = costed.prepared.cut.graph;
  const std::vector<model::NodeId>& nodes = costed.cost->groups[1].nodes;
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(graph.node(nodes[0]).op, "Conv");
  EXPECT_EQ(graph.value(graph.node(nodes[0]).outputs[0]).name, "c");
  EXPECT_EQ(graph.node(nodes[1]).op, "Relu");
}

// A factor behind a blocked Conv that is not taken into its weights becomes a Conv of single
// channels.
TEST_F(FileCostTest, AKernelEndsWhereAnotherOneBegins) {
  const Costed costed = CostOn("onnxruntime", Model("r = Mul(k, c)"));
  ASSERT_TRUE(costed.cost.has_value());
  const model::Graph& graph = costed.prepared.cut.graph;
  std::vector<std::string> ops;
  for (const kernels::KernelGroup& group : costed.cost->groups) {
    for (const model::NodeId id : group.nodes) {
      if (group.spec.op.ends_with(":Conv")) ops.push_back(graph.node(id).op);
    }
  }
  EXPECT_EQ(ops, (std::vector<std::string>{"Conv", "Mul", "Conv"}));
}

TEST_F(FileCostTest, AKernelWhoseValueIsNewBelongsToTheNodeThatItIsCalledBy) {
  ::onnx::ModelProto model = testing::ModelAtOpset(
      17,
      "g (float[2,4,2] x) => (float[2,4,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] b = {5, 6}>"
      " { m = MatMul(x, w) y = Add(m, b) }");
  model.mutable_graph()->mutable_node(0)->set_name("product");
  const Costed costed = CostOn("onnxruntime", model.SerializeAsString());
  ASSERT_TRUE(costed.cost.has_value());
  const auto& groups = costed.cost->groups;
  const auto gemm = std::ranges::find_if(
      groups, [](const kernels::KernelGroup& group) { return group.spec.op == "ort::Gemm"; });
  ASSERT_NE(gemm, groups.end());
  ASSERT_EQ(gemm->nodes.size(), 1u);
  EXPECT_EQ(costed.prepared.cut.graph.node(gemm->nodes[0]).name, "product");
}

TEST_F(FileCostTest, WhatTheRuntimeDoesAnywayIsWorthNothing) {
  const Costed plain = CostOn("onnxruntime", Model("r = Relu(c)"));
  const Costed longer = CostOn("onnxruntime", Model("i = Identity(c) r = Relu(i)"));
  const Costed other = CostOn("onnxruntime", Model("r = Tanh(c)"));
  ASSERT_TRUE(plain.cost.has_value() && longer.cost.has_value() && other.cost.has_value());
  EXPECT_EQ(Keys(*plain.cost), Keys(*longer.cost));
  EXPECT_NE(Keys(*plain.cost), Keys(*other.cost));
}

TEST_F(FileCostTest, OtherDevicesRunNoFiles) {
  EXPECT_FALSE(CostOn("cpu", Model("r = Relu(c)")).cost.has_value());
  EXPECT_FALSE(CostOn("model:h200", Model("r = Relu(c)")).cost.has_value());
}

}  // namespace
}  // namespace quotient::optimize
