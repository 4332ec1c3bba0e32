#include "core/onnx/default_attributes.h"

#include <gtest/gtest.h>

#include <string>

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

const AttributeMap kPlainConv = {
    {"auto_pad", std::string("NOTSET")}, {"dilations", Ints{1, 1}},  {"group", int64_t{1}},
    {"kernel_shape", Ints{3, 3}},        {"pads", Ints{0, 0, 0, 0}}, {"strides", Ints{1, 1}}};

TEST(DefaultAttributes, AConvThatSaysEverythingIsOneThatSaysNothing) {
  EXPECT_EQ(Left("", "Conv", kPlainConv), "");
  EXPECT_EQ(Left(kBlocked, "Conv", kPlainConv), "");
  EXPECT_EQ(Left(kContrib, "FusedConv", kPlainConv), "");
}

TEST(DefaultAttributes, WhatIsNoDefaultStays) {
  AttributeMap other = {{"dilations", Ints{1, 2}},
                        {"group", int64_t{2}},
                        {"pads", Ints{0, 0, 0, 1}},
                        {"strides", Ints{2, 1}},
                        {"activation", std::string("Relu")}};
  EXPECT_EQ(Left(kBlocked, "Conv", other), model::ToString(other));
}

TEST(DefaultAttributes, WhatIsRequiredStays) {
  EXPECT_EQ(Left(kBlocked, "MaxPool", {{"kernel_shape", Ints{1, 1}}, {"strides", Ints{1, 1}}}),
            "{kernel_shape=[1,1]}");
}

TEST(DefaultAttributes, NumbersHaveTheDefaultsOfTheirOpset) {
  EXPECT_EQ(Left("", "Gemm", {{"alpha", 1.0}, {"beta", 0.5}, {"transA", int64_t{0}}}),
            "{beta=0.5}");
  const AttributeMap axis = {{"axis", int64_t{1}}};
  const RuntimeNode old{.op = "Softmax", .opset = 11, .attributes = axis};
  EXPECT_EQ(model::ToString(WithoutDefaults(old, 4)), "");
  EXPECT_EQ(Left("", "Softmax", axis), "{axis=1}");
}

TEST(DefaultAttributes, AxesAreCountedFromTheFront) {
  EXPECT_EQ(Left("", "Softmax", {{"axis", int64_t{3}}}), "");
  EXPECT_EQ(Left("", "Softmax", {{"axis", int64_t{-1}}}), "");
  EXPECT_EQ(Left("", "Concat", {{"axis", int64_t{-3}}}), "{axis=1}");
  EXPECT_EQ(Left("", "Gather", {{"axis", int64_t{-4}}}), "");
  EXPECT_EQ(Left("", "Gather", {{"axis", int64_t{-4}}}, -1), "{axis=-4}") << "no rank is known";
  EXPECT_EQ(Left("", "OneHot", {{"axis", int64_t{-2}}}), "{axis=-2}");
}

TEST(DefaultAttributes, ATransposeReverses) {
  EXPECT_EQ(Left("", "Transpose", {{"perm", Ints{3, 2, 1, 0}}}), "");
  EXPECT_EQ(Left("", "Transpose", {{"perm", Ints{0, 2, 1, 3}}}), "{perm=[0,2,1,3]}");
}

TEST(DefaultAttributes, OfUnknownOperatorsNothingIsLeftOut) {
  const AttributeMap attributes = {{"axis", int64_t{-1}}, {"alpha", 1.0}};
  for (const char* op : {"MatMul", "FusedMatMul", "Gelu", "Conv"}) {
    EXPECT_EQ(Left(kContrib, op, attributes), model::ToString(attributes)) << op;
  }
  EXPECT_EQ(Left("others", "Conv", kPlainConv), model::ToString(kPlainConv));
}

}  // namespace
}  // namespace quotient::onnx
