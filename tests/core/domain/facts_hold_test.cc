// Facts against values: operators on inputs that include NaN, infinities, zeros of both signs and
// the largest and smallest numbers of their type must give what the facts of their outputs say.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "core/base/rng.h"
#include "core/eval/evaluator.h"
#include "tests/core/domain/choices.h"
#include "tests/core/domain/fact_check.h"

namespace quotient::domain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What an operator is applied to. T is the element type; bounded and positive values come from
// functions that bound them.
constexpr char kHead[] = R"(graph g {
    input x: T[2,3,4]
    input y: T[2,3,4]
    input n: int8[2,3,4]
    input b: bool[2,3,4]
    const two: T[] = [2]
    const three: T[] = [3]
    const minus: T[] = [-2]
    const half: T[] = [0.5]
    const e: T[] = [0.01]
    const large: T[] = [60000]
    const mask: T[3,4] = [0, -inf, 0, 0, -inf, -inf, 0, 0, 1, 2, 3, -60000]
    const w: T[4,2] = [1, -2, 3, 4, -5, 6, 0, 100]
    const k: T[2,3,2] = [1, -2, 3, 4, -5, 6, 0, 100, 1, 2, 3, 4]
    const s: T[4] = [1, -2, 3, 0.5]
    const c: T[3] = [1, 2, 0.5]
    const i: int64[2] = [0, 2]
    u = Tanh(x)
    v = Sigmoid(y)
    p = Add(v, e)
    q = Cast(n) {to=TO}
    m = Add(q, mask)
    r = Mul(q, large)
    )";

// One operator of each row of the table, on operands of every kind.
constexpr const char* kOperations[] = {"Neg(?)",
                                       "Abs(?)",
                                       "Relu(?)",
                                       "LeakyRelu(?)",
                                       "LeakyRelu(?) {alpha=-2.0}",
                                       "PRelu(?, ?)",
                                       "Elu(?)",
                                       "Softplus(?)",
                                       "Floor(?)",
                                       "Ceil(?)",
                                       "Round(?)",
                                       "Exp(?)",
                                       "Log(?)",
                                       "Sqrt(?)",
                                       "Reciprocal(?)",
                                       "Sin(?)",
                                       "Cos(?)",
                                       "Atan(?)",
                                       "Sigmoid(?)",
                                       "HardSigmoid(?)",
                                       "Tanh(?)",
                                       "Erf(?)",
                                       "Sign(?)",
                                       "HardSwish(?)",
                                       "Gelu(?)",
                                       "Gelu(?) {approximate=\"tanh\"}",
                                       "Mish(?)",
                                       "Clip(?) {min=-1.0, max=2.0}",
                                       "Clip(?) {max=2.0}",
                                       "Cast(?) {to=10}",
                                       "Cast(?) {to=16}",
                                       "Add(?, ?)",
                                       "Add(?, two)",
                                       "Sub(?, ?)",
                                       "Mul(?, ?)",
                                       "Mul(?, large)",
                                       "Div(?, ?)",
                                       "Pow(?, two)",
                                       "Pow(?, three)",
                                       "Pow(?, half)",
                                       "Pow(?, minus)",
                                       "Max(?, ?)",
                                       "Min(?, ?)",
                                       "Sum(?, ?, ?)",
                                       "Mean(?, ?, ?)",
                                       "Where(b, ?, ?)",
                                       "Transpose(?) {perm=[2,0,1]}",
                                       "Reshape(?) {shape=[4,6]}",
                                       "Expand(?) {shape=[2,2,3,4]}",
                                       "Tile(?) {repeats=[1,2,1]}",
                                       "Slice(?) {axes=[2], starts=[1], ends=[3]}",
                                       "Gather(?, i) {axis=1}",
                                       "Concat(?, ?) {axis=2}",
                                       "Concat(?, ?) {axis=0}",
                                       "Trilu(?)",
                                       "Pad(?) {pads=[0,0,1,0,1,0]}",
                                       "ReduceSum(?) {axes=[1,2]}",
                                       "ReduceMean(?) {axes=[2]}",
                                       "ReduceMax(?) {axes=[0]}",
                                       "ReduceMin(?) {axes=[1]}",
                                       "GlobalAveragePool(?)",
                                       "GlobalMaxPool(?)",
                                       "AveragePool(?) {kernel_shape=[2], pads=[1,0]}",
                                       "MaxPool(?) {kernel_shape=[2], pads=[1,0]}",
                                       "MaxPool(?) {kernel_shape=[1], pads=[1,0]}",
                                       "AveragePool(?) {kernel_shape=[1], pads=[1,0]}",
                                       "CumSum(?) {axis=2}",
                                       "MatMul(?, w)",
                                       "Conv(?, k) {pads=[1,1]}",
                                       "Softmax(?)",
                                       "Softmax(?) {axis=1}",
                                       "LogSoftmax(?)",
                                       "LayerNormalization(?, s, s)",
                                       "InstanceNormalization(?, c, c)",
                                       "BatchNormalization(?, c, c, c, c)",
                                       "Identity(?)"};

constexpr const char* kOperands[] = {"x", "y", "u", "p", "q", "m", "r"};

model::Tensor WildTensor(const model::TensorType& type, Rng& rng) {
  std::span<std::byte> buffer;
  const model::Tensor tensor = model::Tensor::Allocate(type.dtype, type.dims(), &buffer);
  const bool is_float = model::IsFloat(type.dtype);
  const double largest = is_float ? ops::LargestOf(type.dtype) : 127;
  const std::vector<double> wild = {
      NAN,  kInfinity, -kInfinity, 0.0,      -0.0,        1,
      -1,   0.5,       largest,    -largest, 1e3,         -3,
      1e-3, 7,         2,          -88,      largest / 2, ops::SmallestNormalOf(type.dtype) / 4};
  std::vector<double> values(tensor.elements());
  // Some tensors are tame, or nothing but NaN would come out of sums.
  const size_t first = rng.Below(2) == 0 ? 0 : 9;
  for (double& value : values) {
    value = type.dtype == model::DType::kBool ? static_cast<double>(rng.Below(2))
            : is_float                        ? wild[first + rng.Below(wild.size() - first)]
                                              : static_cast<double>(rng.Below(255)) - 127;
  }
  model::Store(type.dtype, buffer, 0, std::span<const double>(values));
  return tensor;
}

// The operation on operands drawn at random, beside what all graphs compute.
std::string GraphOf(absl::string_view dtype, int to, absl::string_view operation, Rng& rng) {
  std::string drawn;
  for (const char letter : operation) {
    if (letter == '?') {
      absl::StrAppend(&drawn, kOperands[rng.Below(std::size(kOperands))]);
    } else {
      drawn += letter;
    }
  }
  std::string text = absl::StrReplaceAll(
      kHead, {{": T[", absl::StrCat(": ", dtype, "[")}, {"=TO}", absl::StrCat("=", to, "}")}});
  absl::StrAppend(&text, "first = ", drawn, "\n    square = Mul(q, q)",
                  "\n    mean = ReduceMean(square) {axes=[2]}\n    shifted = Add(mean, e)",
                  "\n    root = Sqrt(shifted)\n    norm = Div(q, root)",
                  "\n    output first, norm, u, p, m, r\n}");
  return text;
}

void CheckGraph(const std::string& text, Rng& rng) {
  const model::Graph graph = Parsed(text);
  const TensorEGraph tensors = Imported(graph);
  std::vector<model::ValueId> wanted;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (!graph.values[i].constant) wanted.emplace_back(static_cast<uint32_t>(i));
  }
  for (int draw = 0; draw < 4; ++draw) {
    eval::ValueMap inputs;
    for (const model::ValueId input : graph.inputs) {
      inputs.emplace(input, WildTensor(graph.value(input).type, rng));
    }
    ASSERT_OK_AND_ASSIGN(const auto values, eval::Evaluate(graph, inputs, wanted, 1));
    for (const auto& [id, value] : values) {
      const ClassId cls = tensors.class_of_value[id.value()];
      if (!cls.valid()) continue;
      const Facts& facts = tensors.domain->data(*tensors.egraph, cls).facts;
      EXPECT_EQ(Contradiction(facts, value), "") << graph.value(id).name << " of\n" << text;
    }
  }
}

TEST(FactsHold, OfEveryOperatorOnWildInputs) {
  for (const auto& [dtype, to] :
       {std::pair("float32", 1), std::pair("float16", 10), std::pair("float64", 11)}) {
    Rng rng(7, static_cast<uint64_t>(to));
    for (const char* operation : kOperations) {
      for (int repeat = 0; repeat < 4; ++repeat) {
        CheckGraph(GraphOf(dtype, to, operation, rng), rng);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace quotient::domain
