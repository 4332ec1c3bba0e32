// Networks of 16-bit floats from end to end on the emulated GPU, against the same networks of
// float32: a narrow one computes what a wide one with its numbers does, but for rounding.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/eval/evaluator.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "core/kernels/cuda/prepared_kernel.h"
#include "core/onnx/reader.h"
#include "core/ops/infer_graph.h"
#include "core/verify/compare.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/cuda/host_gpu.h"
#include "tests/support/networks/conv_net.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;
using model::Graph;
using model::Tensor;

Tensor Converted(const Tensor& tensor, DType dtype) {
  std::span<std::byte> bytes;
  Tensor result = Tensor::Allocate(dtype, tensor.dims(), &bytes);
  model::Store(dtype, bytes, 0, tensor.AsDoubles());
  return result;
}

// The graph with all values of type `from` as `to`.
Graph Converted(Graph graph, DType from, DType to) {
  for (model::Value& value : graph.values) {
    if (value.type.dtype != from) continue;
    value.type.dtype = to;
    if (value.constant) value.constant = Converted(*value.constant, to);
  }
  return graph;
}

Graph GraphOf(const ::onnx::ModelProto& model) {
  auto bytes = std::make_shared<std::string>();
  EXPECT_TRUE(model.SerializeToString(bytes.get()));
  auto read = onnx::Read(*bytes, {}, onnx::Limits(), bytes);
  EXPECT_OK(read.status());
  if (!read.ok()) return {};
  EXPECT_OK(ops::InferTypes(read->graph));
  return std::move(read->graph);
}

// A stem, a residual block, a depthwise convolution, pools and a head.
::onnx::ModelProto ConvolutionalNetwork() {
  networks::ConvNet net("small_cnn", 5, "2", {"input", 3, 24}, {.bias = false, .batch_norm = true});
  networks::Image x = net.ConvRelu(net.input(), 16, 3, {.stride = 2});
  x = net.MaxPool(x, 3, {.stride = 2});
  const networks::Image inner = net.Conv(net.ConvRelu(x, 16, 3), 16, 3, {.gain = 1});
  x = net.Relu(net.Add({x, inner}));
  const networks::Image deep = net.ConvRelu(x, 16, 3, {.groups = 16});
  const networks::Image wide = net.PlainConv(x, 24, 1);
  x = net.AveragePool(net.Concat({deep, wide}), 3, {.stride = 1});
  net.Classify(x, 10);
  return std::move(net).Build();
}

// Two layers of an encoder as large ones are made, on 12 tokens.
class TransformerBuilder {
 public:
  ::onnx::ModelProto Build() && {
    sqrt_size_ = builder_.Scalar("sqrt_size", std::sqrt(static_cast<float>(kHeadSize)));
    std::string x = builder_.Input("input", {"2", "12", "32"});
    for (int layer = 0; layer < 2; ++layer) {
      x = builder_.LayerNorm(builder_.Add(Attention(x), x), kHidden);
      const std::string inner = builder_.Tanh(Dense(x, kHidden, 2 * kHidden));
      x = builder_.LayerNorm(builder_.Add(Dense(inner, 2 * kHidden, kHidden), x), kHidden);
    }
    builder_.Output(x, {"2", "12", "32"});
    return std::move(builder_).Build();
  }

 private:
  static constexpr int64_t kHidden = 32;
  static constexpr int64_t kHeads = 4;
  static constexpr int64_t kHeadSize = kHidden / kHeads;

  std::string Dense(const std::string& x, int64_t in, int64_t out) {
    return builder_.AddBias(builder_.Project(x, in, out, 1), out);
  }

  std::string Heads(const std::string& x, const std::vector<int64_t>& permutation) {
    return builder_.Transpose(
        builder_.Reshape(Dense(x, kHidden, kHidden), {0, 0, kHeads, kHeadSize}), permutation);
  }

  std::string Attention(const std::string& x) {
    const std::string q = Heads(x, {0, 2, 1, 3});
    const std::string k = Heads(x, {0, 2, 3, 1});
    const std::string v = Heads(x, {0, 2, 1, 3});
    const std::string logits = builder_.Div(builder_.MatMul(q, k), sqrt_size_);
    const std::string found = builder_.MatMul(builder_.Softmax(logits, -1), v);
    return Dense(builder_.Reshape(builder_.Transpose(found, {0, 2, 1, 3}), {0, 0, kHidden}),
                 kHidden, kHidden);
  }

  networks::NetworkBuilder builder_{"small_transformer", 6};
  std::string sqrt_size_;
};

// The last program of each kernel where "" is the first: cuDNN's rather than our own.
PlanChoice LastPrograms() {
  return [](const KernelSpec& spec) {
    const auto ways = WaysToRun(spec, MathPolicy::kTf32, *NewHostGpu(), 1);
    return ways.ok() && !ways->list.empty() ? ways->list.back().name() : "";
  };
}

// Runs the network as `type` and compares with float32 on the same, rounded, numbers.
void ExpectAgrees(const ::onnx::ModelProto& model, DType type, double tolerance) {
  const Graph narrow = Converted(GraphOf(model), DType::kFloat32, type);
  const Graph wide = Converted(narrow, type, DType::kFloat32);
  for (const bool last : {false, true}) {
    SCOPED_TRACE(last ? "last programs" : "first programs");
    const auto backend = NewBackend(NewHostGpu(), {.lanes = last ? 2 : 1});
    ASSERT_OK_AND_ASSIGN(const auto executable,
                         backend->CompileGraph(narrow, last ? LastPrograms() : PlanChoice()));
    const std::vector<Tensor> inputs = RandomInputs(narrow, executable->input_values(), 3);
    eval::ValueMap given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      given.insert_or_assign(executable->input_values()[i], Converted(inputs[i], DType::kFloat32));
    }
    ASSERT_OK(executable->SetInputs(inputs));
    ASSERT_OK(executable->Run());
    ASSERT_OK_AND_ASSIGN(const auto outputs, executable->GetOutputs());
    ASSERT_OK_AND_ASSIGN(const auto expected,
                         eval::Evaluate(wide, given, executable->output_values(), 1));
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].dtype(), type);
    const double error = verify::RelativeNorm(expected.at(executable->output_values()[0]),
                                              Converted(outputs[0], DType::kFloat32));
    EXPECT_LE(error, tolerance);
    EXPECT_GT(error, 0);  // rounded it is
  }
}

TEST(NarrowNetworkTest, ConvolutionalNetworks) {
  ExpectAgrees(ConvolutionalNetwork(), DType::kFloat16, 1e-2);
  ExpectAgrees(ConvolutionalNetwork(), DType::kBfloat16, 2e-2);
}

TEST(NarrowNetworkTest, Transformers) {
  ExpectAgrees(TransformerBuilder().Build(), DType::kFloat16, 1e-2);
  ExpectAgrees(TransformerBuilder().Build(), DType::kBfloat16, 2e-2);
}

}  // namespace
}  // namespace quotient::kernels::cuda
