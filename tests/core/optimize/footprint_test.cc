#include "core/optimize/footprint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/model/text.h"

namespace quotient::optimize {
namespace {

double Bytes(absl::string_view text, int sets, int executables) {
  return BytesToRun(*model::ParseGraph(text), sets, executables);
}

TEST(FootprintTest, InputsOutputsAndWhatLivesAtOneTime) {
  constexpr char kChain[] = R"(graph g {
    input x: float32[100]
    a: float32[100] = Relu(x)
    b: float32[100] = Relu(a)
    c: float32[100] = Relu(b)
    output c })";
  // Two values live at a time, and the input.
  EXPECT_EQ(Bytes(kChain, 0, 1), 2 * (400 + 800) + 400 + 800);
  EXPECT_EQ(Bytes(kChain, 0, 2) - Bytes(kChain, 0, 1), 400 + 800);
  EXPECT_EQ(Bytes(kChain, 3, 1) - Bytes(kChain, 2, 1), 400 + 400);
}

TEST(FootprintTest, WhatIsReadLaterStays) {
  EXPECT_EQ(Bytes(R"(graph g {
                       input x: float32[100]
                       a: float32[100] = Relu(x)
                       b: float32[100] = Relu(a)
                       c: float32[100] = Add(a, b)
                       output c })",
                  0, 0),
            2 * (400 + 1200));
}

TEST(FootprintTest, ReadTwiceOrNeverIsFreedOnce) {
  EXPECT_EQ(Bytes(R"(graph g {
                       input x: float32[10]
                       a: float32[10] = Relu(x)
                       unread: float32[10] = Abs(x)
                       b: float32[10] = Mul(a, a)
                       c: float32[10] = Mul(b, b)
                       output c })",
                  0, 0),
            2 * (40 + 80));
}

TEST(FootprintTest, EveryExecutableHasConstantsOfItsOwn) {
  EXPECT_EQ(Bytes(R"(graph g {
                       input x: float32[2]
                       const w: float32[2] = [1, 2]
                       y: float32[2] = Add(x, w)
                       output y })",
                  0, 3),
            2 * (8 + 8) + 3 * (8 + 8 + 8));
}

TEST(FootprintTest, SizesThatOverflowAreInfinite) {
  const model::Graph graph = *model::ParseGraph(R"(graph g {
    input x: float32[1]
    y: float32[1] = Relu(x)
    output y })");
  model::Graph huge = graph;
  huge.values[0].type =
      model::TensorType(model::DType::kFloat32, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_TRUE(std::isinf(BytesToRun(huge, 1, 1)));
}

}  // namespace
}  // namespace quotient::optimize
