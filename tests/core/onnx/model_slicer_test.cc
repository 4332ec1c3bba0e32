#include "core/onnx/model_slicer.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using quotient::testing::ModelFromText;
using quotient::testing::ParseBytes;
using quotient::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kText[] = R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[N] x, float[N] z) => (float[N] y)
    <float[1] one = {1}, float[1] two = {2}, float[1] unused = {3}> {
      a = Add(x, one)
      b = Mul(a, two)
      y = Sub(b, a)
    })";

class ModelSlicerTest : public ::testing::Test {
 protected:
  // Every value that is computed has this type.
  absl::StatusOr<ModelSlice> Slice(int first, int count) const {
    const absl::StatusOr<ModelSlicer> slicer =
        ModelSlicer::Create(ModelFromText(kText).SerializeAsString());
    EXPECT_OK(slicer.status());
    EXPECT_EQ(slicer->num_nodes(), 3);
    return slicer->Slice(first, count, [this](const std::string&) { return &type_; });
  }

  const model::TensorType type_ =
      model::StaticType(model::DType::kFloat32, std::vector<int64_t>{4});
};

std::vector<std::string> OutputsOf(const ModelSlice& slice) {
  const ::onnx::ModelProto model = ParseBytes(slice.bytes);
  std::vector<std::string> names;
  for (const auto& output : model.graph().output()) names.push_back(output.name());
  return names;
}

TEST_F(ModelSlicerTest, ReadsInputsAndConstantsOfItsOwnNodesOnly) {
  ASSERT_OK_AND_ASSIGN(const ModelSlice slice, Slice(0, 1));
  EXPECT_THAT(slice.inputs, ElementsAre("x"));
  EXPECT_THAT(slice.initializers, ElementsAre("one"));
  EXPECT_THAT(slice.computed, ElementsAre("a"));
  EXPECT_THAT(OutputsOf(slice), ElementsAre("x", "one", "a"));
  const ::onnx::ModelProto model = ParseBytes(slice.bytes);
  EXPECT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_EQ(model.graph().initializer_size(), 1);
}

TEST_F(ModelSlicerTest, WhatEarlierNodesComputeIsAnInputOfTheirType) {
  ASSERT_OK_AND_ASSIGN(const ModelSlice slice, Slice(1, 2));
  EXPECT_THAT(slice.inputs, ElementsAre("a"));
  EXPECT_THAT(slice.initializers, ElementsAre("two"));
  EXPECT_THAT(slice.computed, ElementsAre("b", "y"));
  const auto input = ParseBytes(slice.bytes).graph().input(0);
  EXPECT_EQ(input.name(), "a");
  EXPECT_EQ(input.type().tensor_type().elem_type(), ::onnx::TensorProto::FLOAT);
  EXPECT_EQ(input.type().tensor_type().shape().dim(0).dim_value(), 4);
}

TEST_F(ModelSlicerTest, AllNodesAreTheModel) {
  ASSERT_OK_AND_ASSIGN(const ModelSlice slice, Slice(0, 3));
  EXPECT_THAT(slice.inputs, ElementsAre("x"));
  EXPECT_THAT(slice.computed, ElementsAre("a", "b", "y"));
}

TEST_F(ModelSlicerTest, SubgraphsReadFromOutside) {
  const auto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[2] x) => (float[2] y) <float[1] k = {1}> {
      a = Neg(x)
      y = If (c) <then_branch = t () => (float[2] u) { m = Add(a, k) u = Neg(m) },
                  else_branch = e () => (float[2] v) { v = Abs(x) }>
    })");
  ASSERT_OK_AND_ASSIGN(const ModelSlicer slicer, ModelSlicer::Create(model.SerializeAsString()));
  ASSERT_OK_AND_ASSIGN(const ModelSlice slice,
                       slicer.Slice(1, 1, [this](const std::string&) { return &type_; }));
  EXPECT_THAT(slice.inputs, ElementsAre("c", "a", "x"));
  EXPECT_THAT(slice.initializers, ElementsAre("k"));
  EXPECT_THAT(slice.computed, ElementsAre("y"));
}

TEST_F(ModelSlicerTest, NamesAValueWithoutAType) {
  ASSERT_OK_AND_ASSIGN(const ModelSlicer slicer,
                       ModelSlicer::Create(ModelFromText(kText).SerializeAsString()));
  const auto none = [](const std::string&) -> const model::TensorType* { return nullptr; };
  EXPECT_OK(slicer.Slice(0, 3, none).status());
  const absl::Status status = slicer.Slice(2, 1, none).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("'b'"));
}

TEST_F(ModelSlicerTest, WhatIsNoModelIsRefused) {
  EXPECT_THAT(ModelSlicer::Create("no model").status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace quotient::onnx
