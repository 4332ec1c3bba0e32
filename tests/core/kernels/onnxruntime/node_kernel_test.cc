#include "core/kernels/onnxruntime/node_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/kernels/onnxruntime/random_floats.h"
#include "core/kernels/ort_fusions.h"
#include "core/onnx/runtime_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {
namespace {

using model::DType;
using quotient::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

OutputSummary Summary(DType dtype, std::vector<int64_t> dims = {4, 8}) {
  return {.type = model::StaticType(dtype, dims)};
}
OutputSummary Integers(int64_t least, int64_t most, DType dtype = DType::kInt64) {
  OutputSummary summary = Summary(dtype, {100});
  summary.least = least;
  summary.most = most;
  return summary;
}
OutputSummary WithContent(OutputSummary summary, model::Tensor content) {
  summary.type = content.type();
  summary.content = std::move(content);
  return summary;
}
OutputSummary Subnormal(double share) {
  OutputSummary summary = Summary(DType::kFloat32);
  summary.subnormal_share = share;
  return summary;
}

onnx::RuntimeNode Node(std::string op, std::vector<std::string> inputs,
                       model::AttributeMap attributes = {}) {
  return {.name = "n",
          .domain = "com.microsoft",
          .op = std::move(op),
          .opset = 3,
          .attributes = std::move(attributes),
          .inputs = std::move(inputs),
          .outputs = {"y"}};
}

class NodeKernelTest : public ::testing::Test {
 protected:
  NodeKernelTest() {
    values_.emplace("x", Summary(DType::kFloat32));
    values_.emplace("w", Summary(DType::kFloat32));
    values_.emplace("y", Summary(DType::kFloat32));
    graph_.initializers.insert("w");
  }

  KernelSpec SpecOf(const onnx::RuntimeNode& node) {
    absl::StatusOr<KernelSpec> spec = SpecOfNode(node, graph_, values_);
    EXPECT_OK(spec.status());
    return *std::move(spec);
  }
  // The spec of a node of which this is the only input.
  KernelSpec SpecOf(const char* op, const OutputSummary& input) {
    values_.insert_or_assign("x", input);
    return SpecOf(Node(op, {"x"}));
  }
  // Whether equal nodes that read these share a kernel.
  bool ShareAKernel(const char* op, const OutputSummary& a, const OutputSummary& b) {
    return SpecOf(op, a) == SpecOf(op, b);
  }
  // What the kernel of such a node is timed on.
  model::Tensor InputFor(const char* op, const OutputSummary& input) {
    NodeModel made = ModelOfNode(SpecOf(op, input));
    EXPECT_THAT(made.inputs, SizeIs(1));
    return std::move(made.inputs.front().tensor);
  }

  onnx::RuntimeGraph graph_;
  Summaries values_;
};

TEST_F(NodeKernelTest, ASpecSaysWhatTheNodeIs) {
  const KernelSpec spec = SpecOf(Node("FusedMatMul", {"x", "w"}, {{"alpha", 0.5}}));
  EXPECT_EQ(spec.op, "ort:com.microsoft:FusedMatMul");
  EXPECT_EQ(spec.attributes.GetFloat("alpha", 0), 0.5);
  ASSERT_THAT(spec.inputs, SizeIs(2));
  EXPECT_FALSE(spec.inputs[0].constant);
  EXPECT_TRUE(spec.inputs[1].constant);
  EXPECT_EQ(ToString(spec.inputs[0].type), "float32[4,8]");
  ASSERT_THAT(spec.outputs, SizeIs(1));
  EXPECT_EQ(ToString(spec.outputs[0].type), "float32[4,8]");
  EXPECT_TRUE(IsNodeSpec(spec));
  EXPECT_FALSE(IsNodeSpec({.op = "MatMul"}));
}

TEST_F(NodeKernelTest, TheOpsetIsPartOfASpec) {
  onnx::RuntimeNode node = Node("Gelu", {"x"});
  const KernelSpec spec = SpecOf(node);
  node.name = "other";
  EXPECT_EQ(SpecOf(node), spec) << "a name is not";
  node.opset = 4;
  EXPECT_NE(SpecOf(node), spec);
}

// ONNX Runtime writes the defaults that schemas have into all nodes that it loads. Strides and pads
// have none there, so it leaves them as a file has them.
TEST_F(NodeKernelTest, WhetherStridesOfOneAreWrittenIsNot) {
  onnx::RuntimeNode node =
      Node("FusedConv", {"x", "w"}, {{"activation", std::string("Relu")}, {"group", int64_t{1}}});
  const KernelSpec spec = SpecOf(node);
  node.attributes->Set("strides", model::Ints{1, 1});
  node.attributes->Set("pads", model::Ints{0, 0, 0, 0});
  EXPECT_EQ(SpecOf(node), spec);
  node.attributes->Set("strides", model::Ints{1, 2});
  EXPECT_NE(SpecOf(node), spec);
}

TEST_F(NodeKernelTest, WhatCannotStandAloneIsRefused) {
  onnx::RuntimeNode node = Node("If", {"x"});
  node.attributes.reset();
  const auto refused = StatusIs(absl::StatusCode::kUnimplemented);
  EXPECT_THAT(SpecOfNode(node, graph_, values_), refused) << "it has subgraphs";
  EXPECT_THAT(SpecOfNode(Node("Relu", {"unknown"}), graph_, values_), refused);
  values_.emplace("text", OutputSummary());
  EXPECT_THAT(SpecOfNode(Node("Relu", {"text"}), graph_, values_), refused) << "no tensor";
  node = Node("Relu", {"x"});
  node.outputs = {"text"};
  EXPECT_THAT(SpecOfNode(node, graph_, values_), refused);
}

TEST_F(NodeKernelTest, OperandsThatAreLeftOutStaySo) {
  onnx::RuntimeNode node = Node("Clip", {"x", "", "w"});
  node.outputs = {"", "y"};
  const KernelSpec spec = SpecOf(node);
  ASSERT_THAT(spec.inputs, SizeIs(3));
  EXPECT_EQ(spec.inputs[1].type.dtype, DType::kUndefined);
  const NodeModel made = ModelOfNode(spec);
  ASSERT_OK_AND_ASSIGN(const onnx::RuntimeGraph read, onnx::ReadRuntimeGraph(made.bytes));
  ASSERT_THAT(read.nodes, SizeIs(1));
  EXPECT_THAT(read.nodes[0].inputs, ElementsAre("in0", "", "in2"));
  EXPECT_THAT(read.nodes[0].outputs, ElementsAre("", "out1"));
}

TEST_F(NodeKernelTest, AModelHasTheNodeAlone) {
  const KernelSpec spec = SpecOf(Node("FusedMatMul", {"x", "w"}, {{"alpha", 0.5}}));
  const NodeModel made = ModelOfNode(spec);
  ASSERT_OK_AND_ASSIGN(const onnx::RuntimeGraph read, onnx::ReadRuntimeGraph(made.bytes));
  ASSERT_THAT(read.nodes, SizeIs(1));
  EXPECT_EQ(read.nodes[0].op, "FusedMatMul");
  EXPECT_EQ(read.nodes[0].domain, "com.microsoft");
  EXPECT_EQ(read.nodes[0].opset, 3);
  const model::AttributeMap attributes = {{"alpha", 0.5}};
  EXPECT_EQ(*read.nodes[0].attributes, attributes) << "those of the spec alone are left out";
  EXPECT_THAT(read.initializers, ElementsAre("in1"));
  EXPECT_EQ(made.constant_bytes, 4 * 8 * 4);
  ASSERT_THAT(made.inputs, SizeIs(1));
  EXPECT_EQ(made.inputs[0].name, "in0");
  EXPECT_THAT(made.operands, ElementsAre(0));
}

TEST_F(NodeKernelTest, AValueThatIsReadTwiceIsOneInput) {
  values_.emplace("z", Summary(DType::kFloat32));
  const KernelSpec twice = SpecOf(Node("Sum", {"z", "x", "", "x", ""}));
  EXPECT_NE(twice, SpecOf(Node("Sum", {"z", "x", "", "z", ""})));
  const NodeModel made = ModelOfNode(twice);
  ASSERT_OK_AND_ASSIGN(const onnx::RuntimeGraph read, onnx::ReadRuntimeGraph(made.bytes));
  EXPECT_THAT(read.nodes[0].inputs, ElementsAre("in0", "in1", "", "in1", ""));
  EXPECT_THAT(made.operands, ElementsAre(0, 1));
  const KernelSpec once = SpecOf(Node("Sum", {"z", "", "x", ""}));
  EXPECT_FALSE(once.attributes.Has("ort.first")) << "what is left out is no value";
}

TEST_F(NodeKernelTest, AConstantThatIsReadTwiceIsLikeTwoConstants) {
  values_.emplace("v", Summary(DType::kFloat32));
  graph_.initializers.insert("v");
  const KernelSpec shared = SpecOf(Node("LSTM", {"x", "w", "w"}));
  EXPECT_EQ(shared, SpecOf(Node("LSTM", {"x", "w", "v"})));
  EXPECT_THAT(ModelOfNode(shared).inputs, SizeIs(1));
  EXPECT_NE(SpecOf(Node("Mul", {"x", "x"})), SpecOf(Node("Mul", {"x", "y"})));
}

TEST_F(NodeKernelTest, EqualSpecsAreEqualModels) {
  const KernelSpec spec = SpecOf(Node("FusedMatMul", {"x", "w"}));
  const NodeModel a = ModelOfNode(spec), b = ModelOfNode(spec);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.inputs[0].tensor.digest(), b.inputs[0].tensor.digest());
}

// Which contents of operands have a kernel of their own.
TEST_F(NodeKernelTest, FloatsTellKernelsApartWhereTheTimeDependsOnThem) {
  const auto scalar = [](float value) {
    return WithContent(Summary(DType::kFloat32), model::Tensor::Scalar(value));
  };
  EXPECT_TRUE(ShareAKernel("Mul", scalar(2), scalar(3)));
  for (const char* op : {"Clip", "ConstantOfShape", "Pad", "Pow", "Range", "Resize", "Upsample"}) {
    EXPECT_FALSE(ShareAKernel(op, scalar(2), scalar(3))) << op;
    EXPECT_TRUE(ShareAKernel(op, scalar(2), scalar(2))) << op;
  }
}

TEST_F(NodeKernelTest, SubnormalNumbersTellKernelsApartByTheirShare) {
  const std::vector<std::vector<double>> classes = {
      {0, -1}, {1e-6, 0.01}, {0.011, 0.1}, {0.11, 0.5, 1}};
  for (const auto& a : classes) {
    for (const auto& b : classes) {
      for (const double share : b) {
        EXPECT_EQ(ShareAKernel("Mul", Subnormal(a.front()), Subnormal(share)), &a == &b)
            << a.front() << " " << share;
      }
    }
  }
}

TEST_F(NodeKernelTest, OfZeroPointsItMattersOnlyWhetherTheyAreZero) {
  const auto point = [](int64_t value) {
    OutputSummary summary = Integers(value, value, DType::kInt8);
    summary.content = testing::Ints({}, {value});  // Only its presence counts.
    return summary;
  };
  EXPECT_TRUE(ShareAKernel("QLinearAdd", point(1), point(-7)));
  EXPECT_FALSE(ShareAKernel("QLinearAdd", point(1), point(0)));
  EXPECT_TRUE(
      ShareAKernel("QLinearAdd", Integers(0, 9, DType::kInt8), Integers(-3, 3, DType::kInt8)))
      << "the contents of large tensors do not matter";
}

TEST_F(NodeKernelTest, IntegersTellKernelsApart) {
  EXPECT_TRUE(ShareAKernel("Gather", Integers(0, 5), Integers(0, 5)));
  EXPECT_FALSE(ShareAKernel("Gather", Integers(0, 5), Integers(0, 6)));
  EXPECT_FALSE(ShareAKernel("Gather", Integers(0, 5), Integers(1, 5)));
  const auto with = [](std::initializer_list<int64_t> values) {
    return WithContent(Integers(1, 2), testing::Ints({2}, values));
  };
  EXPECT_FALSE(ShareAKernel("Reshape", with({1, 2}), with({2, 1})));
  EXPECT_TRUE(ShareAKernel("MatMulInteger", with({1, 2}), with({2, 1})));
  EXPECT_TRUE(ShareAKernel("DynamicQuantizeMatMul", Integers(0, 5), Integers(0, 6)));
  EXPECT_TRUE(ShareAKernel("Where", Integers(0, 1, DType::kBool), Integers(1, 1, DType::kBool)));
}

TEST_F(NodeKernelTest, ContentsThatMatterAreThoseOfTheModel) {
  EXPECT_THAT(
      InputFor("Reshape", WithContent(Integers(2, 16), testing::Ints({2}, {2, 16}))).AsInts(),
      ElementsAre(2, 16));
  EXPECT_THAT(
      InputFor("Pow", WithContent(Summary(DType::kFloat32), testing::Floats({1}, {3}))).AsDoubles(),
      ElementsAre(3));
}

TEST_F(NodeKernelTest, RandomIntegersAreInTheRangeOfTheModels) {
  const std::vector<int64_t> indices = InputFor("Gather", Integers(-3, 4)).AsInts();
  EXPECT_THAT(indices, SizeIs(100));
  EXPECT_THAT(indices, Each(AllOf(Ge(-3), Le(4))));
  EXPECT_THAT(std::vector<int64_t>({std::ranges::min(indices), std::ranges::max(indices)}),
              ElementsAre(-3, 4));
  EXPECT_THAT(InputFor("Gather", Integers(7, 7)).AsInts(), Each(7));
  // The whole range has one value more than a number of 64 bits can count.
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> any = InputFor("Add", Integers(kLeast, kMost)).AsInts();
  EXPECT_NE(std::ranges::min(any), std::ranges::max(any));
}

// Those of 100 channels: mobilenet_v2_qdq was predicted at 17 times its time when they were drawn.
TEST_F(NodeKernelTest, ManyZeroPointsThatAreEqualStayEqual) {
  const auto zero_points = [&](int64_t value) {
    return InputFor("QLinearConv", Integers(value, value, DType::kInt8)).AsInts();
  };
  EXPECT_THAT(zero_points(0), AllOf(SizeIs(100), Each(0)));
  EXPECT_THAT(zero_points(-3), AllOf(SizeIs(100), Each(1)));
}

// Small integers, whose range is not in the spec, keep far from where sums of them would overflow.
TEST_F(NodeKernelTest, SmallIntegersHaveRangesOfTheirTypes) {
  EXPECT_THAT(InputFor("Add", Integers(0, 9, DType::kInt8)).AsInts(), Each(AllOf(Ge(-64), Le(63))));
  EXPECT_THAT(InputFor("Add", Integers(0, 9, DType::kUint8)).AsInts(), Each(AllOf(Ge(0), Le(127))));
  EXPECT_THAT(InputFor("Not", Integers(1, 1, DType::kBool)).AsInts(), Each(AllOf(Ge(0), Le(1))));
}

TEST_F(NodeKernelTest, AboutAsManyElementsAreSubnormalAsInTheModel) {
  const auto share_for = [&](double share) {
    OutputSummary summary = Summary(DType::kFloat32, {100, 100});
    summary.subnormal_share = share;
    const std::vector<double> values = InputFor("Mul", summary).AsDoubles();
    const auto subnormal = std::ranges::count_if(values, [](double value) {
      return value != 0 && std::abs(value) < std::numeric_limits<float>::min();
    });
    return static_cast<double>(subnormal) / static_cast<double>(values.size());
  };
  EXPECT_EQ(share_for(0), 0);
  EXPECT_NEAR(share_for(0.005), 0.003, 0.002);
  EXPECT_NEAR(share_for(0.05), 0.03, 0.01);
  EXPECT_NEAR(share_for(0.5), 0.3, 0.05);
}

TEST_F(NodeKernelTest, ConstantFloatsAreLikeWeights) {
  const KernelSpec spec = SpecOf(Node("Relu", {"w"}));
  const NodeModel made = ModelOfNode(spec);
  EXPECT_THAT(made.inputs, IsEmpty());
  EXPECT_THAT(made.operands, IsEmpty());
  for (const double value : InputFor("Relu", Summary(DType::kFloat32)).AsDoubles()) {
    EXPECT_LE(std::abs(value), 1);
  }
}

// The channels of blocked values are filled up to whole blocks.
TEST(ReorderTest, AChangeOfLayoutIsANodeOfOnnxRuntime) {
  const model::TensorType type =
      model::StaticType(DType::kFloat32, std::vector<int64_t>{1, 20, 5, 7});
  const int64_t channels = ChannelsInBlock() == 8 ? 24 : 32;
  const model::TensorType whole =
      model::StaticType(DType::kFloat32, std::vector<int64_t>{1, channels, 5, 7});
  ASSERT_OK_AND_ASSIGN(
      const KernelSpec in,
      SpecOfReorder(MakeReorder(type, Layout::kPlain, Layout::kChannelsLast, 2, Storage::kWide)));
  EXPECT_EQ(in.op, "ort:com.microsoft.nchwc:ReorderInput");
  EXPECT_EQ(in.inputs[0].type, type);
  EXPECT_EQ(in.outputs[0].type, whole);
  EXPECT_EQ(in.threads, 2);
  EXPECT_TRUE(IsNodeSpec(in));
  ASSERT_OK_AND_ASSIGN(
      const KernelSpec out,
      SpecOfReorder(MakeReorder(type, Layout::kChannelsLast, Layout::kPlain, 2, Storage::kWide)));
  EXPECT_EQ(out.op, "ort:com.microsoft.nchwc:ReorderOutput");
  EXPECT_EQ(out.attributes.GetInt("channels", 0), 20);
  EXPECT_EQ(out.inputs[0].type, whole);
  EXPECT_EQ(out.outputs[0].type, type);
}

TEST(ReorderTest, WhatIsNeverBlockedIsRefused) {
  const auto into_blocks = [](std::vector<int64_t> dims) {
    return SpecOfReorder(MakeReorder(model::StaticType(DType::kFloat32, dims), Layout::kPlain,
                                     Layout::kChannelsLast, 1, Storage::kWide));
  };
  EXPECT_THAT(into_blocks({1, 6, 5, 7}), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(into_blocks({1, 8, 5}), StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
