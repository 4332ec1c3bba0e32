#include "core/verify/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "core/eval/evaluator.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"

namespace quotient::verify {
namespace {

using model::Tensor;

struct Noisy {
  std::vector<double> values;
  bool overflowed;
};

// y of a graph with one input x, with noise.
Noisy Evaluate(absl::string_view text, std::vector<float> x, model::DType dtype) {
  model::Graph graph = testing::MustParse(text);
  EXPECT_TRUE(ops::InferTypes(graph).ok());
  const std::vector<double> doubles(x.begin(), x.end());
  std::span<std::byte> bytes;
  Tensor input = Tensor::Allocate(dtype, {static_cast<int64_t>(x.size())}, &bytes);
  model::Store(dtype, bytes, 0, doubles);
  RoundingNoise noise(graph, 1);
  const auto results =
      eval::Evaluate(graph, {{graph.inputs[0], input}}, graph.outputs, 1, {},
                     [&noise](model::NodeId id, std::span<const Tensor* const> inputs,
                              std::vector<Tensor>& outputs) { noise.Visit(id, inputs, outputs); });
  EXPECT_TRUE(results.ok()) << results.status();
  return {results->begin()->second.AsDoubles(), noise.overflowed(graph.outputs[0])};
}

constexpr auto kFloat = model::DType::kFloat32;

TEST(RoundingNoiseTest, ArithmeticMovesByAFewUnits) {
  const Noisy noisy =
      Evaluate("graph g { input x: float32[4] y = Exp(x) output y }", {0, 1, 2, 3}, kFloat);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NE(noisy.values[i], static_cast<float>(std::exp(i)));
    EXPECT_NEAR(noisy.values[i] / std::exp(i), 1, (kNoise + 1) * 0x1p-24);
  }
  EXPECT_FALSE(noisy.overflowed);
}

TEST(RoundingNoiseTest, WhatIsExactStays) {
  const Noisy noisy = Evaluate(R"(graph g {
      input x: float32[4]
      a = Neg(x)
      b = Relu(a)
      c = Transpose(b) {perm=[0]}
      y = Concat(c, a) {axis=0}
      output y })",
                               {1, -2, 3, -4}, kFloat);
  EXPECT_EQ(noisy.values, (std::vector<double>{0, 2, 0, 4, -1, 2, -3, 4}));
}

TEST(RoundingNoiseTest, OverflowIsSeenAndAPoleIsNone) {
  constexpr char kSquare[] = "graph g { input x: float16[2] y = Mul(x, x) output y }";
  EXPECT_TRUE(Evaluate(kSquare, {1, 1000}, model::DType::kFloat16).overflowed);
  EXPECT_FALSE(Evaluate(kSquare, {1, 100}, model::DType::kFloat16).overflowed);
  EXPECT_TRUE(Evaluate(kSquare, {std::nanf(""), 1000}, model::DType::kFloat16).overflowed);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(Evaluate(kSquare, {1, infinity}, model::DType::kFloat16).overflowed);
  constexpr char kPole[] = "graph g { input x: float32[2] y = Reciprocal(x) output y }";
  EXPECT_FALSE(Evaluate(kPole, {1, 0}, kFloat).overflowed);
  EXPECT_TRUE(Evaluate(kPole, {1, 1e-45f}, kFloat).overflowed);
  constexpr char kPoles[] = "graph g { input x: float32[2] y = Atanh(x) output y }";
  EXPECT_FALSE(Evaluate(kPoles, {-1, 1}, kFloat).overflowed);
}

// What does not read the value that overflowed has not overflowed.
TEST(RoundingNoiseTest, OverflowIsFollowedToWhatReadsIt) {
  constexpr char kBeside[] = R"(graph g {
      input x: float16[2]
      s = Mul(x, x)
      const c: float16[] = [1]
      r = Div(c, s)
      b = Sigmoid(r)
      a = Sigmoid(x)
      y = Neg(%s)
      output y, s })";
  const std::vector<float> x = {1, -1000};
  EXPECT_TRUE(Evaluate(absl::StrFormat(kBeside, "b"), x, model::DType::kFloat16).overflowed);
  EXPECT_FALSE(Evaluate(absl::StrFormat(kBeside, "a"), x, model::DType::kFloat16).overflowed);
}

TEST(RaiseDeviationTest, KeepsTheLargest) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor original = testing::Floats({3}, {1, infinity, 5});
  std::vector<float> deviation(3, 0.0f);
  RaiseDeviation(original, testing::Floats({3}, {1.5f, infinity, 5}), &deviation);
  RaiseDeviation(original, testing::Floats({3}, {1.25f, infinity, 5}), &deviation);
  EXPECT_EQ(deviation, (std::vector<float>{0.5f, 0, 0}));
  RaiseDeviation(original, testing::Floats({3}, {1, 7, 5}), &deviation);
  EXPECT_EQ(deviation[1], infinity);
}

}  // namespace
}  // namespace quotient::verify
