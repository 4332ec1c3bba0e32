#include "core/onnx/default_attributes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace quotient::onnx {
namespace {

using model::AttributeMap;
using model::Ints;

constexpr char kBlocked[] = "com.microsoft.nchwc";
constexpr char kContrib[] = "com.microsoft";

std::string Left(const char* domain, const char* op, AttributeMap attributes, int rank = 4) {
  const RuntimeNode node{
      .domain = domain, .op = op, .opset = 17, .attributes = std::move(attributes)};
  return model::ToString(WithoutDefaults(node, rank));
}

const AttributeMap kPlainLists = {{"dilations", Ints{1, 1}},
                                  {"kernel_shape", Ints{3, 3}},
                                  {"pads", Ints{0, 0, 0, 0}},
                                  {"strides", Ints{1, 1}}};

TEST(DefaultAttributes, AConvolutionWithAllListsIsOneWithout) {
  for (const char* op : {"Conv", "ConvInteger", "ConvTranspose", "DeformConv", "QLinearConv"}) {
    EXPECT_EQ(Left("", op, kPlainLists), "") << op;
  }
  for (const char* op : {"FusedConv", "NhwcConv", "NhwcFusedConv", "QLinearConv"}) {
    EXPECT_EQ(Left(kContrib, op, kPlainLists), "") << op;
  }
  EXPECT_EQ(Left(kBlocked, "Conv", kPlainLists), "");
}

TEST(DefaultAttributes, AnOutputPaddingOfZeroIsNone) {
  EXPECT_EQ(Left("", "ConvTranspose", {{"output_padding", Ints{0, 0}}}), "");
  EXPECT_EQ(Left("", "ConvTranspose", {{"output_padding", Ints{1, 0}}}), "{output_padding=[1,0]}");
}

// The kernel_shape of an LpPool of opset 1 is optional, although there are no weights that say it.
TEST(DefaultAttributes, APoolKeepsTheShapeOfItsWindow) {
  for (const char* op : {"AveragePool", "LpPool", "MaxPool", "MaxUnpool"}) {
    EXPECT_EQ(Left("", op, kPlainLists), "{kernel_shape=[3,3]}") << op;
  }
  for (const char* op : {"NhwcMaxPool", "QLinearAveragePool"}) {
    EXPECT_EQ(Left(kContrib, op, kPlainLists), "{kernel_shape=[3,3]}") << op;
  }
  for (const char* op : {"AveragePool", "MaxPool"}) {
    EXPECT_EQ(Left(kBlocked, op, kPlainLists), "{kernel_shape=[3,3]}") << op;
  }
  const RuntimeNode old{.op = "LpPool", .opset = 1, .attributes = kPlainLists};
  EXPECT_EQ(model::ToString(WithoutDefaults(old, 4)), "{kernel_shape=[3,3]}");
}

TEST(DefaultAttributes, WhatIsNoDefaultStays) {
  const AttributeMap other = {{"activation", std::string("Relu")},
                              {"dilations", Ints{1, 2}},
                              {"group", int64_t{2}},
                              {"pads", Ints{0, 0, 0, 1}},
                              {"strides", Ints{2, 1}}};
  EXPECT_EQ(Left(kBlocked, "Conv", other), model::ToString(other));
}

TEST(DefaultAttributes, WhatOnnxRuntimeAlwaysWritesStays) {
  const AttributeMap always = {{"auto_pad", std::string("NOTSET")}, {"group", int64_t{1}}};
  EXPECT_EQ(Left("", "Conv", always), model::ToString(always));
}

// ONNX Runtime does not load a Conv with empty strides, and does not run this Transpose.
TEST(DefaultAttributes, EmptyListsStay) {
  const AttributeMap empty = {{"dilations", Ints()}, {"pads", Ints()}, {"strides", Ints()}};
  EXPECT_EQ(Left("", "Conv", empty), model::ToString(empty));
  EXPECT_EQ(Left("", "Conv", {{"kernel_shape", Ints()}}), "{kernel_shape=[]}");
  EXPECT_EQ(Left("", "Transpose", {{"perm", Ints()}}), "{perm=[]}");
}

TEST(DefaultAttributes, AxesAreCountedFromTheFront) {
  EXPECT_EQ(Left("", "Softmax", {{"axis", int64_t{3}}}), "{axis=3}");
  EXPECT_EQ(Left("", "Softmax", {{"axis", int64_t{-1}}}), "{axis=3}");
  EXPECT_EQ(Left("", "Concat", {{"axis", int64_t{-3}}}), "{axis=1}");
  EXPECT_EQ(Left("", "Gather", {{"axis", int64_t{-4}}}), "{axis=0}");
}

TEST(DefaultAttributes, AxesThatAreNotOfTheFirstInputStay) {
  EXPECT_EQ(Left("", "OneHot", {{"axis", int64_t{-2}}}), "{axis=-2}");
  EXPECT_EQ(Left(kContrib, "QLinearConcat", {{"axis", int64_t{-1}}}), "{axis=-1}");
}

TEST(DefaultAttributes, AxesOutsideOfTheRankStay) {
  EXPECT_EQ(Left("", "Flatten", {{"axis", int64_t{4}}}), "{axis=4}");
  EXPECT_EQ(Left("", "Softmax", {{"axis", int64_t{-5}}}), "{axis=-5}");
  EXPECT_EQ(Left("", "Softmax", {{"axis", int64_t{-1}}}, 0), "{axis=-1}");
  EXPECT_EQ(Left("", "Gather", {{"axis", int64_t{-4}}}, -1), "{axis=-4}") << "no rank is known";
  EXPECT_EQ(Left("", "Gather", {{"axis", int64_t{0}}}, -1), "{axis=0}") << "no rank is known";
}

TEST(DefaultAttributes, ATransposeReverses) {
  EXPECT_EQ(Left("", "Transpose", {{"perm", Ints{3, 2, 1, 0}}}), "");
  EXPECT_EQ(Left("", "Transpose", {{"perm", Ints{0, 2, 1, 3}}}), "{perm=[0,2,1,3]}");
}

TEST(DefaultAttributes, OfOtherOperatorsNothingIsLeftOut) {
  AttributeMap attributes = kPlainLists;
  attributes.Set("perm", Ints{1, 0});
  for (const char* op : {"Conv", "FusedMaxPool", "FusedMatMul", "FusedX", "Transpose"}) {
    EXPECT_EQ(Left(kContrib, op, attributes), model::ToString(attributes)) << op;
  }
  EXPECT_EQ(Left(kBlocked, "ConvTranspose", attributes), model::ToString(attributes));
  EXPECT_EQ(Left("others", "Conv", attributes), model::ToString(attributes));
}

// The pads of a Pad are required, so a node without them would not be valid.
TEST(DefaultAttributes, APadKeepsItsPads) {
  EXPECT_EQ(Left("", "Pad", {{"pads", Ints{0, 0}}}), "{pads=[0,0]}");
}

}  // namespace
}  // namespace quotient::onnx
