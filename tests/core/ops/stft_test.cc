#include "core/ops/stft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/core/ops/one_node.h"

namespace quotient::ops {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Inferred;
using ::testing::Pointwise;
using testing::TypeOf;
using testing::ValuesOf;

// The elements up to rounding.
auto Near(std::vector<double> expected) {
  return Pointwise(::testing::FloatNear(1e-6F), std::move(expected));
}

TEST(StftTest, FactorsGoRoundTheUnitCircle) {
  const std::vector<std::complex<double>> factors = FourierFactors(12);
  ASSERT_EQ(factors.size(), 12u);
  for (size_t k = 0; k < factors.size(); ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / 12;
    EXPECT_THAT(factors[k].real(), DoubleNear(std::cos(angle), 1e-15));
    EXPECT_THAT(factors[k].imag(), DoubleNear(std::sin(angle), 1e-15));
  }
}

TEST(StftTest, FramesBeginAStepApart) {
  // Sums, alternating sums, and what is a quarter turn apart.
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,7,1] = [1, 2, 3, 4, 5, 6, 8]
                          y = STFT(x) {frame_step=2, frame_length=4})"),
              Near({10, 0, -2, 2, -2, 0, 18, 0, -2, 2, -2, 0}));
}

TEST(StftTest, AWindowScalesEachFrame) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,5,1] = [1, 2, 3, 4, 5]
                          const w: float32[4] = [1, 0, -1, 10]
                          y = STFT(x, _, w) {frame_step=1})"),
              Near({38, 0, 4, 40, -42, 0, 48, 0, 6, 50, -52, 0}));
}

TEST(StftTest, TwoSidedOnesHaveConjugatesToo) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,4,1] = [1, 2, 3, 4]
                          y = STFT(x) {frame_step=1, frame_length=4, onesided=0})"),
              Near({10, 0, -2, 2, -2, 0, -2, -2}));
}

TEST(StftTest, SamplesMayBeComplex) {
  // The second signal is the first times the imaginary unit.
  EXPECT_THAT(ValuesOf(R"(const x: float32[2,2,2] = [1, 0, 3, 0, 0, 1, 0, 3]
                          y = STFT(x) {frame_step=1, frame_length=2, onesided=0})"),
              Near({4, 0, -2, 0, 0, 4, 0, -2}));
}

TEST(StftTest, SizesFollowFromStepAndLength) {
  EXPECT_EQ(TypeOf(R"(input x: float32[B,400,1]
                      input w: float32[25]
                      y = STFT(x, _, w) {frame_step=10})"),
            "float32[B,38,13,2]");
  EXPECT_EQ(TypeOf(R"(input x: float16[3,400]
                      y = STFT(x) {frame_step=10, frame_length=25, onesided=0})"),
            "float16[3,38,25,2]");
  EXPECT_EQ(TypeOf(R"(input x: float32[1,400,1]
                      input step: int64[]
                      input w: float32[W]
                      y = STFT(x, step, w))"),
            "float32[1,?,?,2]");
}

TEST(StftTest, ASymbolHasAsManyFramesAsPositionsOfAWindow) {
  const auto frames = [](const char* node, int axis) {
    const auto graph = Inferred(absl::StrCat(R"(input x: float32[1,N,1]
                                                input image: float32[1,1,N]
                                                input w: float32[402,1,400]
                                                y = )",
                                             node));
    return graph.ok() ? graph->value(graph->outputs[0]).type.dim(axis) : model::Dim();
  };
  const model::Dim of_stft = frames("STFT(x) {frame_step=160, frame_length=400}", 1);
  EXPECT_TRUE(of_stft.is_symbol());
  EXPECT_EQ(of_stft, frames("Conv(image, w) {strides=[160]}", 2));
}

TEST(StftTest, LengthIsThatOfTheWindow) {
  const auto graph = Inferred(R"(input x: float32[1,400,1]
                                 input w: float32[25]
                                 y = STFT(x, _, w) {frame_step=10, onesided=1})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes[0].attributes.GetInt("frame_length", 0), 25);
  EXPECT_FALSE(graph->nodes[0].attributes.Has("onesided"));
}

TEST(StftTest, WhatDoesNotFitIsAnError) {
  const auto error = [](const char* signal, const char* attributes) {
    return TypeOf(absl::StrCat("input x: ", signal, "\ninput w: float32[8]\ny = STFT(x, _, w) {",
                               attributes, "}"));
  };
  EXPECT_THAT(error("float32[1,7,1]", "frame_step=1"), HasSubstr("shorter than a frame of 8"));
  EXPECT_THAT(error("float32[1,9,3]", "frame_step=1"), HasSubstr("samples of 3 numbers"));
  EXPECT_THAT(error("float32[9]", "frame_step=1"), HasSubstr("a signal of 1 axes"));
  EXPECT_THAT(error("float64[1,9,1]", "frame_step=1"), HasSubstr("different element types"));
  EXPECT_THAT(error("int32[1,9,1]", "frame_step=1"), HasSubstr("int32"));
  EXPECT_THAT(error("float32[1,9,1]", "frame_step=0"), HasSubstr("frame_step is 0"));
  EXPECT_THAT(error("float32[1,9,1]", "frame_step=1, frame_length=7"),
              HasSubstr("a window of 8 samples for frames of 7"));
}

TEST(StftTest, OthersAreNotRead) {
  const auto accepts = [](model::AttributeMap attributes, size_t inputs) {
    model::Node node{.inputs = std::vector<model::ValueId>(inputs, model::ValueId(0))};
    node.attributes = std::move(attributes);
    return FindOp("STFT")->accepts(node);
  };
  EXPECT_TRUE(accepts({{"frame_step", int64_t{1}}, {"frame_length", int64_t{1}}}, 1));
  EXPECT_TRUE(accepts({}, 3));
  EXPECT_FALSE(accepts({{"frame_step", int64_t{1}}}, 1));
  EXPECT_FALSE(accepts({{"frame_step", int64_t{0}}, {"frame_length", int64_t{1}}}, 1));
  EXPECT_FALSE(accepts({{"frame_step", int64_t{1}}, {"frame_length", int64_t{1} << 31}}, 1));
}

TEST(StftTest, AllFramesAreOneProduct) {
  const Products products = FindOp("STFT")->contraction.products(
      {{"frame_step", int64_t{10}}, {"frame_length", int64_t{25}}}, {3, 400, 1}, {},
      {3, 38, 13, 2});
  EXPECT_EQ(products.batch, 1);
  EXPECT_EQ(products.m, 3 * 38);
  EXPECT_EQ(products.n, 26);
  EXPECT_EQ(products.k, 25);
}

}  // namespace
}  // namespace quotient::ops
