// What is an attention by its types, and how its tensors lie. Which nodes of graphs are one:
// partition_test.cc.

#include "core/kernels/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

using model::Ints;
using model::TensorType;

TensorType TypeOf(absl::string_view text) {
  const auto type = model::ParseTensorType(text);
  EXPECT_OK(type.status()) << text;
  return *type;
}

bool IsAttentionOf(absl::string_view q, absl::string_view k, absl::string_view v) {
  return IsAttention(TypeOf(q), TypeOf(k), TypeOf(v), nullptr);
}

TEST(IsAttentionTest, MatricesThatFitBehindTheSameAxes) {
  EXPECT_TRUE(IsAttentionOf("float32[2,3,5,4]", "float32[2,3,4,6]", "float32[2,3,6,7]"));
  EXPECT_TRUE(IsAttentionOf("float16[3,5,4]", "float16[3,4,6]", "float16[3,6,7]"));
  EXPECT_TRUE(IsAttentionOf("bfloat16[1,1,1]", "bfloat16[1,1,1]", "bfloat16[1,1,1]"));
}

TEST(IsAttentionTest, OtherTypesAreNone) {
  const struct {
    const char *q, *k, *v;
  } kOthers[] = {
      // Too few axes, too many, not equally many.
      {"float32[5,4]", "float32[4,6]", "float32[6,7]"},
      {"float32[1,2,3,5,4]", "float32[1,2,3,4,6]", "float32[1,2,3,6,7]"},
      {"float32[2,3,5,4]", "float32[3,4,6]", "float32[2,3,6,7]"},
      {"float32[2,3,5,4]", "float32[2,3,4,6]", "float32[3,6,7]"},
      // Axes in front that spread.
      {"float32[2,3,5,4]", "float32[2,1,4,6]", "float32[2,3,6,7]"},
      {"float32[2,3,5,4]", "float32[2,3,4,6]", "float32[1,3,6,7]"},
      // Matrices that do not fit.
      {"float32[2,3,5,4]", "float32[2,3,5,6]", "float32[2,3,6,7]"},
      {"float32[2,3,5,4]", "float32[2,3,4,6]", "float32[2,3,5,7]"},
      // Numbers that are not computed with in single precision, and a mixture.
      {"float64[3,5,4]", "float64[3,4,6]", "float64[3,6,7]"},
      {"int32[3,5,4]", "int32[3,4,6]", "int32[3,6,7]"},
      {"float16[3,5,4]", "float32[3,4,6]", "float16[3,6,7]"},
      {"float16[3,5,4]", "float16[3,4,6]", "float32[3,6,7]"},
      // Nothing in them: keys of no elements, no keys, no queries, no columns of values.
      {"float32[3,5,0]", "float32[3,0,6]", "float32[3,6,7]"},
      {"float32[3,5,4]", "float32[3,4,0]", "float32[3,0,7]"},
      {"float32[3,0,4]", "float32[3,4,6]", "float32[3,6,7]"},
      {"float32[3,5,4]", "float32[3,4,6]", "float32[3,6,0]"},
  };
  for (const auto& [q, k, v] : kOthers) EXPECT_FALSE(IsAttentionOf(q, k, v)) << q << k << v;
}

TEST(IsAttentionTest, MasksSpreadOverTheScores) {
  const auto with = [](absl::string_view mask) {
    const TensorType type = TypeOf(mask);
    return IsAttention(TypeOf("float32[1,3,5,4]"), TypeOf("float32[1,3,4,6]"),
                       TypeOf("float32[1,3,6,7]"), &type);
  };
  for (const char* mask : {"float32[]", "float32[6]", "float32[5,1]", "float32[3,1,6]",
                           "float32[1,1,5,6]", "float32[1,3,5,6]"}) {
    EXPECT_TRUE(with(mask)) << mask;
  }
  for (const char* mask : {"float32[5]", "float32[2,3,5,6]", "float32[1,1,3,5,6]", "float16[6]",
                           "float32[0]", "bool[6]"}) {
    EXPECT_FALSE(with(mask)) << mask;
  }
}

KernelSpec SpecOf(const std::vector<std::string>& inputs, absl::string_view output,
                  const model::AttributeMap& attributes) {
  KernelSpec spec;
  spec.op = kAttentionOp;
  spec.attributes = attributes;
  for (const std::string& input : inputs) spec.inputs.push_back({TypeOf(input)});
  spec.outputs = {{TypeOf(output)}};
  return spec;
}

// "2,3,5,4 by 60,20,4,1"
std::string Describe(const AttentionTensors::Tensor& tensor) {
  return absl::StrCat(absl::StrJoin(tensor.dims, ","), " by ", absl::StrJoin(tensor.strides, ","));
}

TEST(AttentionScaleTest, IsWhatTheScoresAreMultipliedBy) {
  EXPECT_EQ(AttentionScale("Mul", 0, 0.125), 0.125);
  EXPECT_EQ(AttentionScale("Mul", 1, 0.125), 0.125);
  EXPECT_EQ(AttentionScale("Div", 0, 8), 0.125);
  EXPECT_EQ(AttentionScale("Div", 1, 8), std::nullopt);  // 8 / scores
  EXPECT_EQ(AttentionScale("Div", 0, 0), std::nullopt);
  EXPECT_EQ(AttentionScale("Mul", 0, 1e300), std::nullopt);
}

TEST(TensorsOfAttentionTest, AsTheMatricesLie) {
  const AttentionTensors tensors = TensorsOfAttention(
      SpecOf({"float32[2,3,5,4]", "float32[2,3,4,6]", "float32[2,3,6,7]"}, "float32[2,3,5,7]", {}));
  EXPECT_EQ(Describe(tensors.q), "2,3,5,4 by 60,20,4,1");
  EXPECT_EQ(Describe(tensors.k), "2,3,6,4 by 72,24,1,6");  // keys are columns
  EXPECT_EQ(Describe(tensors.v), "2,3,6,7 by 126,42,7,1");
  EXPECT_EQ(Describe(tensors.y), "2,3,5,7 by 105,35,7,1");
  EXPECT_FALSE(tensors.mask.has_value());
}

TEST(TensorsOfAttentionTest, HeadsBehindThePositions) {
  const AttentionTensors tensors = TensorsOfAttention(
      SpecOf({"float32[2,5,3,4]", "float32[2,6,3,4]", "float32[2,6,3,7]"}, "float32[2,5,3,7]",
             {{"q_perm", Ints{0, 2, 1, 3}},
              {"k_perm", Ints{0, 2, 3, 1}},
              {"v_perm", Ints{0, 2, 1, 3}},
              {"y_perm", Ints{0, 2, 1, 3}}}));
  EXPECT_EQ(Describe(tensors.q), "2,3,5,4 by 60,4,12,1");
  EXPECT_EQ(Describe(tensors.k), "2,3,6,4 by 72,4,12,1");
  EXPECT_EQ(Describe(tensors.v), "2,3,6,7 by 126,7,21,1");
  EXPECT_EQ(Describe(tensors.y), "2,3,5,7 by 105,7,21,1");
}

TEST(TensorsOfAttentionTest, OfThreeAxesHaveOneHead) {
  const AttentionTensors tensors = TensorsOfAttention(
      SpecOf({"float32[3,5,4]", "float32[3,6,4]", "float32[6,3,7]"}, "float32[3,5,7]",
             {{"k_perm", Ints{0, 2, 1}}, {"v_perm", Ints{1, 0, 2}}}));
  EXPECT_EQ(Describe(tensors.q), "3,1,5,4 by 20,20,4,1");
  EXPECT_EQ(Describe(tensors.k), "3,1,6,4 by 24,24,4,1");
  EXPECT_EQ(Describe(tensors.v), "3,1,6,7 by 7,7,21,1");
  EXPECT_EQ(Describe(tensors.y), "3,1,5,7 by 35,35,7,1");
}

// The result's permutation is that of a Transpose behind it, so axes go the other way.
TEST(TensorsOfAttentionTest, PermutationsThatAreNotTheirOwnInverse) {
  const AttentionTensors tensors = TensorsOfAttention(
      SpecOf({"float32[5,4,3]", "float32[3,4,6]", "float32[3,6,7]"}, "float32[5,7,3]",
             {{"q_perm", Ints{2, 0, 1}}, {"y_perm", Ints{1, 2, 0}}}));
  EXPECT_EQ(Describe(tensors.q), "3,1,5,4 by 1,1,12,3");
  EXPECT_EQ(Describe(tensors.y), "3,1,5,7 by 1,1,21,3");
}

TEST(TensorsOfAttentionTest, MasksHaveFourAxesToo) {
  const auto mask = [](const char* type, bool heads) {
    const std::string front = heads ? "float32[2,3," : "float32[3,";
    return Describe(
        *TensorsOfAttention(
             SpecOf({front + "5,4]", front + "4,6]", front + "6,7]", type}, front + "5,7]", {}))
             .mask);
  };
  EXPECT_EQ(mask("float32[]", true), "1,1,1,1 by 1,1,1,1");
  EXPECT_EQ(mask("float32[6]", true), "1,1,1,6 by 6,6,6,1");
  EXPECT_EQ(mask("float32[5,1]", true), "1,1,5,1 by 5,5,1,1");
  EXPECT_EQ(mask("float32[2,1,1,6]", true), "2,1,1,6 by 6,6,6,1");
  EXPECT_EQ(mask("float32[2,3,5,6]", true), "2,3,5,6 by 90,30,6,1");
  // Without heads the first of three axes is the batch.
  EXPECT_EQ(mask("float32[5,6]", false), "1,1,5,6 by 30,30,6,1");
  EXPECT_EQ(mask("float32[3,1,6]", false), "3,1,1,6 by 6,6,6,1");
}

}  // namespace
}  // namespace quotient::kernels
