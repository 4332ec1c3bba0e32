// How far the opset may rise, and when it does.

#include "core/onnx/opset.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/onnx/schema.h"
#include "core/onnx/writer.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using model::Graph;
using ::onnx::ModelProto;
using ::quotient::testing::HasReason;
using ::quotient::testing::IsOk;
using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::ModelFromText;
using ::quotient::testing::MustFind;
using ::quotient::testing::ReadProto;
using ::quotient::testing::WriteChanged;
using ::testing::HasSubstr;

ModelProto ModelWithOpaque(int opset, absl::string_view op) {
  return ModelAtOpset(
      opset, absl::StrCat("g (float[2,3] x) => (float[2,3] y) { t = ", op, "(x)  y = Relu(t) }"));
}

TEST(OpsetTest, OpaqueOperatorsBoundTheRise) {
  const auto highest = [](const ModelProto& proto, int max_opset) {
    const auto model = ReadProto(proto);
    EXPECT_THAT(model, IsOk());
    return HighestOpset(*model, max_opset);
  };
  // RandomNormalLike changed at 22, Hardmax at 13; a custom operator of the default domain may
  // become known later: Gelu at 20.
  EXPECT_EQ(highest(ModelWithOpaque(11, "RandomNormalLike"), 28), 21);
  EXPECT_EQ(highest(ModelWithOpaque(11, "RandomNormalLike"), 15), 15);
  EXPECT_EQ(highest(ModelWithOpaque(11, "Hardmax"), 28), 12);
  EXPECT_EQ(highest(ModelWithOpaque(13, "Gelu"), 28), 19);
  EXPECT_EQ(highest(ModelWithOpaque(13, "Fancy"), 28), 28);
  EXPECT_EQ(highest(ModelWithOpaque(13, "Relu"), 0), 13);
  EXPECT_EQ(highest(ModelWithOpaque(13, "Relu"), 9), 13);  // never lowered
}

TEST(OpsetTest, OperatorsInSubgraphsAndFunctionsCountToo) {
  const ModelProto in_branch = ModelAtOpset(11, R"(
      g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = a () => (float[2] p) { p = Hardmax(x) },
                    else_branch = b () => (float[2] q) { q = Neg(x) }>
      })");
  ASSERT_OK_AND_ASSIGN(const Model branch, ReadProto(in_branch));
  EXPECT_EQ(HighestOpset(branch, 28), 12);

  const ModelProto in_function = ModelFromText(R"(
      <ir_version: 8, opset_import: ["" : 13, "local" : 1]>
      g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = a () => (float[2] p) { p = local.f(x) },
                    else_branch = b () => (float[2] q) { q = local.f(x) }>
      }
      <domain: "local", opset_import: ["" : 13]> f (a) => (b) { b = Selu(a) })");
  ASSERT_OK_AND_ASSIGN(const Model function, ReadProto(in_function));
  EXPECT_EQ(HighestOpset(function, 28), 21);
  EXPECT_EQ(OperatorThatKeepsOpset(function, 28), "Selu");
  EXPECT_EQ(OperatorThatKeepsOpset(function, 21), "");
}

// All that ONNX says about these operators in its schemas must have stayed but for the types.
TEST(OpsetTest, OperatorsThatWereOnlyWidenedTakeWhatTheyTook) {
  const auto takes_no_less = [](const auto& before, const auto& after, absl::string_view op) {
    ASSERT_EQ(before.size(), after.size()) << op;
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(before[i].GetOption(), after[i].GetOption()) << op;
      for (const ::onnx::DataType type : before[i].GetTypes()) {
        EXPECT_TRUE(after[i].GetTypes().contains(type)) << op << " " << *type;
      }
    }
  };
  for (const OnlyWidened& widened : OnlyWidenedOperators()) {
    for (int opset = widened.since; opset < NewestOpset(); ++opset) {
      const ::onnx::OpSchema* before = FindSchema(widened.op, opset);
      const ::onnx::OpSchema* after = FindSchema(widened.op, opset + 1);
      ASSERT_TRUE(before != nullptr && after != nullptr) << widened.op << " " << opset;
      takes_no_less(before->inputs(), after->inputs(), widened.op);
      takes_no_less(before->outputs(), after->outputs(), widened.op);
      for (const auto& [name, attribute] : before->attributes()) {
        ASSERT_TRUE(after->attributes().contains(name)) << widened.op << "." << name;
        const auto& now = after->attributes().at(name);
        EXPECT_EQ(attribute.type, now.type) << widened.op << "." << name;
        EXPECT_EQ(attribute.default_value.SerializeAsString(),
                  now.default_value.SerializeAsString())
            << widened.op << "." << name;
      }
    }
  }
}

// Before opset 8 the inputs of Sum had one shape.
TEST(OpsetTest, SumBroadcastsFromOpset8On) {
  const ModelProto before =
      ModelAtOpset(7, "g (float[2,3] x, float[3] b) => (float[2,3] y) { y = Relu(x) }");
  const auto add_sum = [](Graph& graph) {
    graph.outputs[0] = graph.AddOp("Sum", {graph.inputs[0], graph.inputs[1]});
  };
  EXPECT_THAT(WriteChanged(before, add_sum), HasReason(Reason::kOpsetUnknown));
  WriteOptions options;
  options.max_opset = 20;
  ASSERT_OK_AND_ASSIGN(const ModelProto after, WriteChanged(before, add_sum, options));
  EXPECT_EQ(after.opset_import(0).version(), 8);
}

TEST(OpsetTest, IsRaisedOnlyIfANodeNeedsItAndMayBe) {
  const auto add_gelu = [](Graph& graph) {
    graph.outputs[0] = graph.AddOp("Gelu", {MustFind(graph, "t")});
  };
  const ModelProto before = ModelAtOpset(
      13, "g (float[2,3] x) => (float[2,1] y) { t = ReduceMean<axes = [1]>(x)  y = Relu(t) }");
  WriteOptions options;
  EXPECT_THAT(WriteChanged(before, add_gelu, options),
              HasReason(Reason::kOpsetUnknown, HasSubstr("(Gelu): cannot be written")));
  options.max_opset = 28;
  ASSERT_OK_AND_ASSIGN(const ModelProto after, WriteChanged(before, add_gelu, options));
  EXPECT_EQ(after.opset_import(0).version(), 20);
  // What the newer opset says differently is said its way.
  EXPECT_EQ(after.graph().node(0).attribute_size(), 0);
  EXPECT_EQ(after.graph().node(0).input_size(), 2);
  EXPECT_THAT(ReadProto(after), IsOk());

  // Hardmax means something else from opset 13 on, so nothing may be raised past 12.
  const ModelProto bounded =
      ModelAtOpset(11, "g (float[2,3] x) => (float[2,3] y) { t = Hardmax(x)  y = Relu(t) }");
  EXPECT_THAT(WriteChanged(bounded, add_gelu, options), HasReason(Reason::kOpsetUnknown));
}

}  // namespace
}  // namespace quotient::onnx
