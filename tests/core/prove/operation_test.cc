// The definitions of operators in the field against their evaluation in floats, which is tested
// against ONNX: on small integers, where floats are exact, both must say the same.

#include "core/prove/operation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/ops/infer_graph.h"
#include "core/ops/op.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::prove {
namespace {

model::Tensor Integers(const model::TensorType& type, uint64_t seed) {
  Rng rng(seed);
  std::span<std::byte> buffer;
  const model::Tensor tensor = model::Tensor::Allocate(type.dtype, type.dims(), &buffer);
  std::vector<double> elements(tensor.elements());
  for (double& each : elements) each = static_cast<double>(rng.Below(15)) - 7;
  model::Store(type.dtype, buffer, 0, std::span<const double>(elements));
  return tensor;
}

FieldTensor InField(const model::Tensor& tensor) {
  FieldTensor image{tensor.dims(), {}};
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    image.elements.push_back(*FromFloat(tensor.GetDouble(i)));
  }
  return image;
}

// `node` is the last line of a graph in text form; the lines before it are its inputs.
void ExpectSame(const std::string& inputs, const std::string& node) {
  SCOPED_TRACE(node);
  model::Graph graph =
      testing::MustParse("graph g {\n" + inputs + "\nz = " + node + "\noutput z\n}");
  ASSERT_OK(ops::InferTypes(graph));
  const model::Node& call = graph.nodes.back();
  std::vector<model::Tensor> tensors;
  std::vector<FieldTensor> images;
  for (const model::ValueId id : call.inputs) {
    const model::Value& value = graph.value(id);
    tensors.push_back(value.constant ? *value.constant : Integers(value.type, id.value()));
    images.push_back(InField(tensors.back()));
  }
  std::vector<const model::Tensor*> operands;
  std::vector<const FieldTensor*> image_operands;
  for (size_t i = 0; i < tensors.size(); ++i) {
    operands.push_back(&tensors[i]);
    image_operands.push_back(&images[i]);
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<model::Tensor> expected,
                       ops::EvaluateNode(call, operands, 1));
  std::set<std::string> functions;
  const model::Ints dims = expected[0].dims();
  ASSERT_OK_AND_ASSIGN(const FieldTensor actual,
                       Evaluate({call.op, call.attributes, image_operands, dims, functions}));
  EXPECT_EQ(actual, InField(expected[0]));
  EXPECT_TRUE(functions.empty());
}

TEST(Operation, ElementwiseOperatorsAreThoseOfFloats) {
  const std::string inputs =
      "input x: float32[2,3,4]\ninput y: float32[3,1]\n"
      "const two: float32[] = [2]\nconst powers: float32[4] = [1, 2, 4, -8]\n"
      "input c: bool[2,1,4]";
  for (const char* node : {"Add(x, y)", "Sub(y, x)", "Mul(x, y)", "Neg(x)", "Div(x, powers)",
                           "Reciprocal(powers)", "Pow(x, two)", "Sum(x, y, two)"}) {
    ExpectSame(inputs, node);
  }
}

TEST(Operation, MovesAreThoseOfFloats) {
  const std::string inputs =
      "input x: float32[2,3,4]\ninput y: float32[2,1,4]\n"
      "const i: int64[2,1] = [2, -3]";
  for (const char* node :
       {"Transpose(x) {perm=[2,0,1]}", "Reshape(x) {shape=[4,6]}", "Expand(y) {shape=[2,3,4]}",
        "Tile(y) {repeats=[1,3,2]}", "Concat(x, y, x) {axis=1}",
        "Slice(x) {axes=[1,2], ends=[3,3], starts=[1,0]}",
        "Slice(x) {axes=[2], ends=[-5], starts=[3], steps=[-2]}", "Pad(x) {pads=[0,1,2,1,0,1]}",
        "Pad(x) {constant_value=3.0, pads=[0,0,1,0,0,0]}", "Gather(x, i) {axis=1}",
        "Squeeze(y) {axes=[1]}", "Unsqueeze(x) {axes=[0,3]}", "Flatten(x) {axis=2}",
        "Identity(x)"}) {
    ExpectSame(inputs, node);
  }
}

TEST(Operation, ContractionsAreThoseOfFloats) {
  const std::string matrices =
      "input a: float32[2,1,3,4]\ninput b: float32[5,4,2]\n"
      "input v: float32[4]\ninput m: float32[3,4]\ninput n: float32[4,2]\n"
      "input row: float32[2]\ninput t: float32[2,4]";
  for (const char* node :
       {"MatMul(a, b)", "MatMul(v, b)", "MatMul(a, v)", "MatMul(v, v)", "Gemm(m, n)",
        "Gemm(m, t, row) {alpha=0.5, beta=2.0, transB=1}", "Gemm(n, m) {transA=1, transB=1}"}) {
    ExpectSame(matrices, node);
  }
  const std::string images =
      "input x: float32[2,4,5,6]\ninput w: float32[6,4,3,2]\n"
      "input g: float32[6,2,3,2]\ninput d: float32[4,1,3,3]\n"
      "input b: float32[6]\ninput t: float32[4,3,2,3]\n"
      "input line: float32[1,2,7]\ninput taps: float32[3,2,3]";
  for (const char* node :
       {"Conv(x, w, b)", "Conv(x, w, b) {dilations=[2,1], pads=[1,0,2,3], strides=[2,3]}",
        "Conv(x, g, b) {group=2, pads=[0,1,1,0]}", "Conv(x, d) {group=4, strides=[1,2]}",
        "Conv(line, taps) {dilations=[2], pads=[1,2]}", "ConvTranspose(x, t)",
        "ConvTranspose(x, t, b) {group=2, pads=[0,1,1,0], strides=[2,3]}",
        "ConvTranspose(x, t) {dilations=[2,1], strides=[1,2]}"}) {
    ExpectSame(images, node);
  }
}

// Means of a power of two are exact in floats.
TEST(Operation, ReductionsAreThoseOfFloats) {
  const std::string inputs = "input x: float32[2,3,4,2]";
  for (const char* node : {"ReduceSum(x) {axes=[1,3]}", "ReduceSum(x) {axes=[-2], keepdims=0}",
                           "ReduceSum(x)", "ReduceMean(x) {axes=[0,2]}", "GlobalAveragePool(x)",
                           "AveragePool(x) {kernel_shape=[2,2], strides=[2,1]}",
                           "AveragePool(x) {kernel_shape=[2,4], pads=[1,2,0,1], "
                           "dilations=[2,1], count_include_pad=1}",
                           "AveragePool(x) {ceil_mode=1, kernel_shape=[2,2], strides=[3,3]}",
                           "AveragePool(x) {kernel_shape=[2,1], pads=[1,0,1,0]}"}) {
    ExpectSame(inputs, node);
  }
}

TEST(Operation, RotationsAreThoseOfFloats) {
  const std::string inputs =
      "input x: float32[2,3,4,6]\ninput wide: float32[2,4,18]\ninput c: float32[2,4,3]\n"
      "input s: float32[2,4,3]\ninput few: float32[1,4,2]\ninput wave: float32[7,3]\n"
      "input tide: float32[7,3]\nconst i: int64[2,4] = [0, 3, 2, 6, 5, 1, 4, -7]";
  for (const char* node :
       {"RotaryEmbedding(x, c, s)", "RotaryEmbedding(x, c, s) {interleaved=1}",
        "RotaryEmbedding(x, wave, tide, i)", "RotaryEmbedding(wide, c, s) {num_heads=3}",
        "RotaryEmbedding(x, few, few) {interleaved=1, rotary_embedding_dim=4}",
        "RotaryEmbedding(wide, few, few) {num_heads=3, rotary_embedding_dim=4}"}) {
    ExpectSame(inputs, node);
  }
}

TEST(Field, FloatsHaveExactImages) {
  EXPECT_EQ(Multiply(*FromFloat(0.1), *FromFloat(0x1p55)), *FromFloat(0.1 * 0x1p55));
  EXPECT_EQ(Add(*FromFloat(-2.5), *FromFloat(2.5)), 0u);
  EXPECT_EQ(ToInteger(*FromFloat(-1e15)), -1'000'000'000'000'000);
  EXPECT_NE(*FromFloat(0x1p61), 1u);
  EXPECT_FALSE(FromFloat(INFINITY).has_value());
  EXPECT_FALSE(Inverse(0).has_value());
  EXPECT_EQ(FromInteger(std::numeric_limits<int64_t>::min()), Subtract(0, Power(2, 63)));
}

}  // namespace
}  // namespace quotient::prove
