#include "core/onnx/repeat_nodes.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

// "op(inputs) -> outputs" of each node.
std::vector<std::string> Nodes(const ::onnx::ModelProto& model) {
  std::vector<std::string> nodes;
  for (const ::onnx::NodeProto& node : model.graph().node()) {
    nodes.push_back(absl::StrCat(node.op_type(), "(", absl::StrJoin(node.input(), ","), ") -> ",
                                 absl::StrJoin(node.output(), ",")));
  }
  return nodes;
}

TEST(RepeatNodesTest, EachCopyHasItsOwnInitializers) {
  const auto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x, float[2] z) => (float[2] y) <float[2] w = {1, 2}> {
      m = Mul(x, w)
      a = Add(m, w)
      y = Sub(a, z)
    })");
  ASSERT_OK_AND_ASSIGN(const RepeatedModel repeated, RepeatNodes(model.SerializeAsString(), 2));
  const ::onnx::ModelProto proto = ParseBytes(repeated.bytes);
  EXPECT_THAT(Nodes(proto),
              ElementsAre("Mul(x,w__0) -> m__0", "Add(m__0,w__0) -> a__0", "Sub(a__0,z) -> y__0",
                          "Mul(x,w__1) -> m__1", "Add(m__1,w__1) -> a__1", "Sub(a__1,z) -> y__1"));
  EXPECT_EQ(proto.graph().initializer_size(), 2);
  EXPECT_THAT(repeated.outputs, ElementsAre("y__0"));
}

TEST(RepeatNodesTest, LayoutsOfInputsAndOutputsAreNotRepeated) {
  const auto model = ModelFromText(
      R"(<ir_version: 8, opset_import: ["" : 13, "com.microsoft.nchwc" : 1]>
    g (float[1,16,4,4] x) => (float[1,16,4,4] y) <float[1] w = {1}> {
      b = com.microsoft.nchwc.ReorderInput(x)
      c = com.microsoft.nchwc.Conv(b, w)
      y = com.microsoft.nchwc.ReorderOutput(c)
    })");
  ASSERT_OK_AND_ASSIGN(const RepeatedModel repeated, RepeatNodes(model.SerializeAsString(), 2));
  EXPECT_THAT(Nodes(ParseBytes(repeated.bytes)),
              ElementsAre("ReorderInput(x) -> b", "Conv(b,w__0) -> c__0", "Conv(b,w__1) -> c__1"));
  EXPECT_THAT(repeated.outputs, ElementsAre("c__0"));
}

TEST(RepeatNodesTest, AShapeFreesTheResultsOfEachCopy) {
  const auto model = ModelFromText(R"(<ir_version: 8, opset_import: ["com.microsoft" : 1]>
    g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
      m = com.microsoft.BiasGelu(x, w)
      y = com.microsoft.FastGelu(m)
    })");
  ASSERT_OK_AND_ASSIGN(
      const RepeatedModel repeated,
      RepeatNodes(model.SerializeAsString(), 2, Borders::kRepeated, Memory::kFreed));
  const ::onnx::ModelProto proto = ParseBytes(repeated.bytes);
  EXPECT_THAT(Nodes(proto), ElementsAre("BiasGelu(x,w__0) -> m__0", "FastGelu(m__0) -> y__0",
                                        "Shape(y__0) -> shape of y__0", "BiasGelu(x,w__1) -> m__1",
                                        "FastGelu(m__1) -> y__1", "Shape(y__1) -> shape of y__1"));
  EXPECT_THAT(repeated.outputs, ElementsAre("y__0"));
  ASSERT_EQ(proto.opset_import_size(), 2);
  EXPECT_EQ(proto.opset_import(1).domain(), "");
}

TEST(RepeatNodesTest, AModelWithoutNodesHasNothingToRepeat) {
  const auto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] x) {})");
  EXPECT_THAT(RepeatNodes(model.SerializeAsString(), 2), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(RepeatNodes("no model", 2), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace quotient::onnx
