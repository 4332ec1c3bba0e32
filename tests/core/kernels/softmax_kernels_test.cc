// Softmax and LogSoftmax on the CPU, along every axis, against the reference evaluator.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/eval/evaluator.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// y is computed from x, of which Softmax is taken along `axis`.
model::Graph SoftmaxOf(const std::string& op, const std::string& dtype,
                       const std::vector<int64_t>& dims, int64_t axis) {
  return GraphOf({"softmax", absl::StrCat("input x: ", dtype, "[", absl::StrJoin(dims, ","),
                                          "]\ny = ", op, "(x) {axis=", axis, "}\noutput y\n")});
}

// Rows of fewer and of more floats than a vector has, in pieces of fewer and of more rows than make
// a wide one, and rows that are cut into blocks.
TEST(SoftmaxKernels, AlongEveryAxisOfManyShapes) {
  const std::vector<int64_t> shapes[] = {{1, 1, 1, 1}, {2, 3, 5, 2},   {3, 100, 1, 19}, {7, 37},
                                         {2, 9, 4, 3}, {5, 3, 20, 16}, {2, 6, 700},     {40, 1100},
                                         {1, 4, 255},  {3, 2, 2, 64},  {70'000, 2},     {9}};
  ASSERT_OK_AND_ASSIGN(const auto backend, onednn::NewBackend(1));
  for (const std::vector<int64_t>& dims : shapes) {
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      for (const char* op : {"Softmax", "LogSoftmax"}) {
        SCOPED_TRACE(absl::StrCat(op, " of [", absl::StrJoin(dims, ","), "] along ", axis));
        ExpectReference(*backend, SoftmaxOf(op, "float32", dims, static_cast<int64_t>(axis)), axis);
      }
    }
  }
}

TEST(SoftmaxKernels, OfEveryFloatType) {
  ASSERT_OK_AND_ASSIGN(const auto backend, onednn::NewBackend(1));
  for (const char* dtype : {"float16", "bfloat16", "float32", "float64"}) {
    for (const char* op : {"Softmax", "LogSoftmax"}) {
      SCOPED_TRACE(absl::StrCat(op, " of ", dtype));
      ExpectReference(*backend, SoftmaxOf(op, dtype, {2, 50, 19}, -2), 5);
    }
  }
}

TEST(SoftmaxKernels, ByTwoThreads) {
  ASSERT_OK_AND_ASSIGN(const auto backend, onednn::NewBackend(2));
  ExpectReference(*backend, SoftmaxOf("Softmax", "float32", {8, 300, 19}, 1), 5);
  ExpectReference(*backend, SoftmaxOf("LogSoftmax", "float32", {200, 3000}, 0), 5);
}

// Channels lie last around convolutions.
TEST(SoftmaxKernels, BetweenConvolutions) {
  ASSERT_OK_AND_ASSIGN(const auto backend, onednn::NewBackend(1));
  for (const int axis : {0, 1, 2, 3}) {
    const model::Graph graph =
        GraphOf({"between",
                 absl::StrCat("input x: float32[2,5,6,7]\nconst w: float32[5,5,1,1] = random(3)\n"
                              "c = Conv(x, w)\ns = Softmax(c) {axis=",
                              axis, "}\ny = Conv(s, w)\noutput y\n")});
    ExpectReference(*backend, graph, 5);
  }
}

// Columns with every kind of number that is not finite. Bit by bit NaN may differ.
TEST(SoftmaxKernels, WhatIsNotFinite) {
  constexpr int64_t kRows = 21, kColumns = 9;
  std::vector<float> numbers(2 * kRows * kColumns);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i));
  const auto at = [&](int64_t row, int64_t column) -> float& {
    return numbers[static_cast<size_t>(row * kColumns + column)];
  };
  at(20, 0) = std::nanf("");
  at(3, 1) = kInfinity;
  at(4, 2) = -kInfinity;
  for (int64_t row = 0; row < kRows; ++row) at(row, 3) = -kInfinity;
  at(0, 4) = kInfinity;
  at(1, 4) = -kInfinity;
  for (int64_t row = 0; row < kRows; ++row) at(row, 5) = 3e38f;
  at(7, 6) = -3e38f;
  at(8, 6) = 3e38f;
  for (int64_t row = 0; row < kRows; ++row) at(row, 7) = row % 2 == 0 ? 200.0f : -200.0f;
  ASSERT_OK_AND_ASSIGN(const auto backend, onednn::NewBackend(1));
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    const model::Graph graph = SoftmaxOf(op, "float32", {2, kRows, kColumns}, 1);
    ASSERT_OK_AND_ASSIGN(const auto executable, backend->CompileGraph(graph, {}));
    const model::Tensor x = model::Tensor::Floats({2, kRows, kColumns}, numbers);
    ASSERT_OK(executable->SetInputs({x}));
    ASSERT_OK(executable->Run());
    ASSERT_OK_AND_ASSIGN(const std::vector<model::Tensor> outputs, executable->GetOutputs());
    const model::ValueId y = graph.outputs[0];
    ASSERT_OK_AND_ASSIGN(const auto expected,
                         eval::Evaluate(graph, {{graph.inputs[0], x}}, std::vector{y}, 1));
    for (int64_t i = 0; i < outputs[0].elements(); ++i) {
      const double wanted = expected.at(y).GetDouble(i), found = outputs[0].GetDouble(i);
      const bool is_close = std::abs(wanted - found) <= 1e-6 + 1e-6 * std::abs(wanted);
      EXPECT_TRUE(wanted == found || (std::isnan(wanted) && std::isnan(found)) || is_close)
          << op << " of column " << i % kColumns << ": " << wanted << " wanted, " << found
          << " found";
    }
  }
}

}  // namespace
}  // namespace quotient::kernels
