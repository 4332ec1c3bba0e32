// The element-wise functions of one tensor on the CPU, alone and behind a contraction, over the
// whole range of floats.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/eval/evaluator.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "core/ops/op.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

// Both zeros, NaN, infinities, the ends of what exp can hold, steps through [-6, 6], small numbers.
std::vector<float> Everything() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> numbers = {
      0.0f, -0.0f, std::nanf(""), kInfinity, -kInfinity, 88.0f,  -88.0f, 87.0f,   -87.0f,
      1e4f, -1e4f, 1e30f,         -1e30f,    1e-3f,      -1e-3f, 1e-10f, -1e-10f,
  };
  for (int i = -300; i <= 300; ++i) numbers.push_back(static_cast<float>(i) / 50);
  return numbers;
}

// A few roundings of a float32, and of sums of numbers near 1 that nearly cancel.
bool IsClose(float expected, float actual) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return expected == actual;
  return std::fabs(actual - expected) <= 1e-6f + 1e-5f * std::fabs(expected);
}

// Expects of the value y what the reference computes if x has these numbers.
void ExpectReference(const std::string& lines, const std::vector<float>& numbers) {
  SCOPED_TRACE(lines);
  const auto rows = static_cast<int64_t>(numbers.size());
  const model::Graph graph = GraphOf(
      {"everything", absl::StrCat("input x: float32[", rows, ",1]\n", lines, "\noutput y\n")});
  ASSERT_OK_AND_ASSIGN(const auto backend, onednn::NewBackend(1));
  ASSERT_OK_AND_ASSIGN(const auto executable, backend->CompileGraph(graph, {}));
  const model::Tensor x = model::Tensor::Floats({rows, 1}, numbers);
  ASSERT_OK(executable->SetInputs({x}));
  ASSERT_OK(executable->Run());
  ASSERT_OK_AND_ASSIGN(const std::vector<model::Tensor> outputs, executable->GetOutputs());
  const model::ValueId y = graph.outputs[0];
  ASSERT_OK_AND_ASSIGN(const auto expected,
                       eval::Evaluate(graph, {{graph.inputs[0], x}}, std::vector{y}, 1));
  for (int64_t i = 0; i < rows; ++i) {
    const auto wanted = static_cast<float>(expected.at(y).GetDouble(i));
    const auto found = static_cast<float>(outputs[0].GetDouble(i));
    EXPECT_TRUE(IsClose(wanted, found))
        << "of " << numbers[i] << ": " << wanted << " wanted, " << found << " found";
  }
}

void ExpectReferenceOnEverything(const std::string& lines) { ExpectReference(lines, Everything()); }

// Calls of the operator with its defaults and with other numbers.
std::vector<std::string> CallsOf(const std::string& op) {
  std::vector<std::string> calls = {""};
  const ops::OpDef* row = ops::FindOp(op);
  for (const double number : {0.5, 1.5}) {
    std::string attributes;
    for (const ops::AttributeDef& attribute : row->attributes) {
      if (attribute.kind != ops::AttributeDef::Kind::kFloat) continue;
      absl::StrAppend(&attributes, attributes.empty() ? "" : ", ", attribute.name, "=", number);
    }
    if (!attributes.empty()) calls.push_back(absl::StrCat(" {", attributes, "}"));
  }
  return calls;
}

// The operators that compute a function of one number.
std::vector<std::string> UnaryOps() {
  std::vector<std::string> names;
  for (const ops::OpDef* row : ops::AllOps()) {
    if (row->function != ops::UnaryFunction::kNone) names.push_back(row->name);
  }
  return names;
}

TEST(UnaryKernelsTest, EachIsRightOnEveryKindOfNumber) {
  EXPECT_GT(UnaryOps().size(), 30u);
  for (const std::string& op : UnaryOps()) {
    for (const std::string& attributes : CallsOf(op)) {
      ExpectReferenceOnEverything(absl::StrCat("y = ", op, "(x)", attributes));
    }
  }
}

TEST(UnaryKernelsTest, InfinitiesAreFound) {
  ExpectReferenceOnEverything("y = IsInf(x)");
  ExpectReferenceOnEverything("y = IsInf(x) {detect_negative=0}");
  ExpectReferenceOnEverything("y = IsInf(x) {detect_positive=0}");
}

// Behind a contraction oneDNN computes these, and is wrong on NaN or on infinities: Relu(NaN) is 0,
// Clip stops at the largest number, Gelu of infinity is NaN.
const std::set<std::string> kWrongIfNotFinite = {"Clip", "Exp", "Gelu", "HardSigmoid", "Relu"};

// The product with 1 changes no number.
TEST(UnaryKernelsTest, EachIsRightBehindAContraction) {
  std::vector<float> finite = Everything();
  std::erase_if(finite, [](float number) { return !std::isfinite(number); });
  for (const std::string& op : UnaryOps()) {
    for (const std::string& attributes : CallsOf(op)) {
      ExpectReference(absl::StrCat("const w: float32[1,1] = [1]\nm = MatMul(x, w)\n", "y = ", op,
                                   "(m)", attributes),
                      kWrongIfNotFinite.contains(op) ? finite : Everything());
    }
  }
}

}  // namespace
}  // namespace quotient::kernels
