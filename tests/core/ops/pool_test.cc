#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/core/ops/one_node.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using testing::AttributesOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::Evaluated;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using testing::TypeOf;
using testing::ValuesOf;

constexpr char kNine[] = "const x: float32[1,1,3,3] = [1,2,3,4,5,6,7,8,9]\n";
constexpr char kFive[] = "const x: float32[1,1,5] = [1,2,3,4,5]\n";

TEST(MaxPool, TakesTheLargest) {
  EXPECT_THAT(ValuesOf(absl::StrCat(kNine, "y = MaxPool(x) {kernel_shape=[2,2]}")),
              ElementsAre(5, 6, 8, 9));
}

TEST(MaxPool, PaddingNeverWins) {
  EXPECT_THAT(ValuesOf(R"(const x: float32[1,1,2] = [-3,-4]
                          y = MaxPool(x) {kernel_shape=[2], pads=[1,1]})"),
              ElementsAre(-3, -3, -4));
}

TEST(MaxPool, DilatesAndStrides) {
  EXPECT_THAT(ValuesOf(absl::StrCat(
                  kFive, "y = MaxPool(x) {dilations=[2], kernel_shape=[2], strides=[2]}")),
              ElementsAre(3, 5));
}

TEST(MaxPool, CeilModeTakesTheIncompleteWindow) {
  const char* node = "y = MaxPool(x) {kernel_shape=[2], strides=[2]}";
  EXPECT_THAT(ValuesOf(absl::StrCat(kFive, node)), ElementsAre(2, 4));
  EXPECT_THAT(
      ValuesOf(absl::StrCat(kFive, "y = MaxPool(x) {ceil_mode=1, kernel_shape=[2], strides=[2]}")),
      ElementsAre(2, 4, 5));
}

TEST(MaxPool, Integers) {
  EXPECT_THAT(ValuesOf(R"(const x: int8[1,1,3] = [-128,-127,5]
                          y = MaxPool(x) {kernel_shape=[2]})"),
              ElementsAre(-127, 5));
}

TEST(AveragePool, DividesByWhatCounts) {
  EXPECT_THAT(ValuesOf(absl::StrCat(kFive, "y = AveragePool(x) {kernel_shape=[3], pads=[1,1]}")),
              ElementsAre(1.5, 2, 3, 4, 4.5));
  EXPECT_THAT(ValuesOf(absl::StrCat(kFive,
                                    "y = AveragePool(x) {count_include_pad=1, "
                                    "kernel_shape=[3], pads=[1,1]}")),
              ElementsAre(1, 2, 3, 4, 3));
}

TEST(AveragePool, WhatCeilModeAddsDoesNotCount) {
  // The last window covers 5 and one place beyond the padding.
  EXPECT_THAT(ValuesOf(absl::StrCat(kFive,
                                    "y = AveragePool(x) {ceil_mode=1, count_include_pad=1, "
                                    "kernel_shape=[2], strides=[2]}")),
              ElementsAre(1.5, 3.5, 5));
}

TEST(AveragePool, TwoAxes) {
  EXPECT_THAT(ValuesOf(absl::StrCat(kNine,
                                    "y = AveragePool(x) {kernel_shape=[3,1], "
                                    "pads=[1,0,1,0], strides=[2,2]}")),
              ElementsAre(2.5, 4.5, 5.5, 7.5));
}

TEST(Pools, ThreeAxesAndManyPlanesOnAnyNumberOfThreads) {
  const char* inputs = "const x: float32[3,5,4,6,5] = random(3)\n";
  for (const char* node : {"y = MaxPool(x) {kernel_shape=[2,3,2], pads=[1,1,0,0,1,1]}",
                           "y = AveragePool(x) {kernel_shape=[2,3,2], pads=[1,1,0,0,1,1]}",
                           "y = GlobalAveragePool(x)"}) {
    ASSERT_OK_AND_ASSIGN(const model::Tensor alone, Evaluated(absl::StrCat(inputs, node), 1));
    for (int threads : {2, 8}) {
      ASSERT_OK_AND_ASSIGN(const model::Tensor together,
                           Evaluated(absl::StrCat(inputs, node), threads));
      EXPECT_TRUE(SameContent(alone, together)) << node;
    }
  }
}

// A pool whose window is the whole plane, against the global one.
TEST(Pools, GlobalPoolsAreOneWindow) {
  const char* input = "const x: float32[2,3,4,5] = random(9)\n";
  EXPECT_THAT(ValuesOf(absl::StrCat(input, "y = GlobalAveragePool(x)")),
              Pointwise(DoubleNear(1e-7),
                        ValuesOf(absl::StrCat(input, "y = AveragePool(x) {kernel_shape=[4,5]}"))));
  EXPECT_EQ(ValuesOf(absl::StrCat(input, "y = GlobalMaxPool(x)")),
            ValuesOf(absl::StrCat(input, "y = MaxPool(x) {kernel_shape=[4,5]}")));
}

TEST(Pools, InferTypes) {
  EXPECT_EQ(TypeOf("input x: float32[N,C,9,W]\n"
                   "y = MaxPool(x) {ceil_mode=1, kernel_shape=[2,1], strides=[2,1]}"),
            "float32[N,C,5,W]");
  EXPECT_EQ(TypeOf("input x: float32[N,C,H,W]\n"
                   "y = AveragePool(x) {kernel_shape=[2,2], strides=[2,2]}"),
            "float32[N,C,?,?]");
  EXPECT_EQ(TypeOf("input x: float32[N,C,H,W]\ny = GlobalAveragePool(x)"), "float32[N,C,1,1]");
  EXPECT_EQ(TypeOf("input x: float32[*]\ny = GlobalMaxPool(x)"), "float32[*]");
}

TEST(Pools, CanonicalForm) {
  EXPECT_EQ(AttributesOf("input x: float32[1,1,7,7]\n"
                         "y = MaxPool(x) {auto_pad=\"SAME_LOWER\", ceil_mode=0, dilations=[1,1], "
                         "kernel_shape=[3,3], storage_order=1, strides=[2,2]}"),
            "{kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}");
  EXPECT_EQ(AttributesOf("input x: float32[1,1,7,7]\n"
                         "y = AveragePool(x) {count_include_pad=0, kernel_shape=[2,2], "
                         "pads=[0,0,0,0], strides=[1,1]}"),
            "{kernel_shape=[2,2]}");
}

TEST(Pools, SayWhatDoesNotFit) {
  EXPECT_THAT(TypeOf("input x: float32[1,1,7,7]\ny = MaxPool(x)"), HasSubstr("kernel_shape"));
  EXPECT_THAT(TypeOf("input x: float32[1,1,7]\ny = MaxPool(x) {kernel_shape=[2,2]}"),
              HasSubstr("axes"));
  EXPECT_THAT(TypeOf("input x: float32[1,7]\ny = GlobalAveragePool(x)"), HasSubstr("rank 2"));
  EXPECT_THAT(TypeOf("input x: int32[1,1,7]\ny = AveragePool(x) {kernel_shape=[2]}"),
              HasSubstr("int32"));
}

// ONNX Runtime runs them: without a stride there is no position, with one it may find some.
TEST(Pools, OfWindowsThatDoNotFitAreNotRefused) {
  const std::string pool = "\ny = MaxPool(x) {kernel_shape=[3,3]";
  EXPECT_EQ(TypeOf("input x: float32[1,1,2,2]" + pool + "}"), "float32[1,1,0,0]");
  EXPECT_EQ(TypeOf("input x: float32[1,1,1,3]" + pool + "}"), "float32[1,1,?,1]");
  EXPECT_EQ(TypeOf("input x: float32[1,1,2,3]" + pool + ", strides=[2,2]}"), "float32[1,1,?,1]");
}

}  // namespace
}  // namespace quotient::ops
