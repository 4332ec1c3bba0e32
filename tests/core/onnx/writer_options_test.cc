// What options of reading and writing change in what comes out.

#include <gtest/gtest.h>

#include <string>

#include "core/onnx/writer.h"
#include "core/ops/infer_graph.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using model::Graph;
using ::onnx::ModelProto;
using ::quotient::testing::HasReason;
using ::quotient::testing::IsOk;
using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::OpsOf;
using ::quotient::testing::ParseBytes;
using ::quotient::testing::ReadProto;
using ::quotient::testing::RoundTrip;

TEST(WriterOptionsTest, BoundShapesAreWrittenOnlyWhenAskedFor) {
  const ModelProto before = ModelAtOpset(
      13, "g (float[N,4] x) => (float[N,4] y) <float[N,4] t> { t = Relu(x)  y = Abs(t) }");
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(before));
  ASSERT_OK_AND_ASSIGN(const Graph bound, ops::BindShapes(model.graph, {{"x", {3, 4}}}));
  ASSERT_OK_AND_ASSIGN(const WrittenModel kept, Write(model, bound, {}));
  EXPECT_EQ(kept.bytes, before.SerializeAsString());

  WriteOptions options;
  options.bind_types = true;
  ASSERT_OK_AND_ASSIGN(const WrittenModel written, Write(model, bound, options));
  const ModelProto after = ParseBytes(written.bytes);
  for (const auto* info :
       {&after.graph().input(0), &after.graph().output(0), &after.graph().value_info(0)}) {
    EXPECT_EQ(info->type().tensor_type().shape().dim(0).dim_value(), 3) << info->name();
  }
}

TEST(WriterOptionsTest, WhereNotEvenTheRankWasKnownBoundShapesAreWrittenToo) {
  ModelProto before = ModelAtOpset(13, "g (float[3] x) => (float[3] y) { y = Relu(x) }");
  for (auto* info :
       {before.mutable_graph()->mutable_input(0), before.mutable_graph()->mutable_output(0)}) {
    info->mutable_type()->mutable_tensor_type()->clear_shape();
  }
  ASSERT_OK_AND_ASSIGN(Model model, ReadProto(before));
  ASSERT_OK_AND_ASSIGN(const Graph bound, ops::BindShapes(model.graph, {{"x", {3, 4}}}));
  WriteOptions options;
  options.bind_types = true;
  ASSERT_OK_AND_ASSIGN(const WrittenModel written, Write(model, bound, options));
  const ModelProto after = ParseBytes(written.bytes);
  for (const auto* info : {&after.graph().input(0), &after.graph().output(0)}) {
    const auto& shape = info->type().tensor_type().shape();
    ASSERT_EQ(shape.dim_size(), 2) << info->name();
    EXPECT_EQ(shape.dim(1).dim_value(), 4) << info->name();
  }
}

// Symbols of inputs are names; what inference made up is left open.
TEST(WriterOptionsTest, TypesOfInnerValuesAreWrittenOnlyWhenAskedFor) {
  const ModelProto before = ModelAtOpset(13, R"(
      g (float[N,4] x) => (float[N,4] y) { t = Relu(x)  u = NonZero(t)  v = Neg(u)  y = Abs(t) })");
  ASSERT_OK_AND_ASSIGN(Model model, ReadProto(before));
  ASSERT_THAT(ops::InferTypes(model.graph), IsOk());
  ASSERT_OK_AND_ASSIGN(const WrittenModel kept, Write(model, model.graph, {}));
  EXPECT_EQ(ParseBytes(kept.bytes).graph().value_info_size(), 0);

  WriteOptions options;
  options.annotate_types = true;
  ASSERT_OK_AND_ASSIGN(const WrittenModel written, Write(model, model.graph, options));
  const ModelProto after = ParseBytes(written.bytes);
  ASSERT_EQ(after.graph().value_info_size(), 3);
  const auto& t = after.graph().value_info(0);
  EXPECT_EQ(t.name(), "t");
  EXPECT_EQ(t.type().tensor_type().elem_type(), ::onnx::TensorProto::FLOAT);
  EXPECT_EQ(t.type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_EQ(t.type().tensor_type().shape().dim(1).dim_value(), 4);
  const auto& v = after.graph().value_info(2);
  EXPECT_EQ(v.name(), "v");
  EXPECT_EQ(v.type().tensor_type().elem_type(), ::onnx::TensorProto::INT64);
  EXPECT_EQ(v.type().tensor_type().shape().dim(0).dim_value(), 2);
  EXPECT_EQ(v.type().tensor_type().shape().dim(1).value_case(),
            ::onnx::TensorShapeProto::Dimension::VALUE_NOT_SET);
}

// --- Values that are kept ---

TEST(WriterOptionsTest, AKeptValueIsAnOutputInBetween) {
  const std::string bytes =
      ModelAtOpset(13, "g (float[2] x) => (float[2] y) { t = Relu(x)  y = Abs(t) }")
          .SerializeAsString();
  ASSERT_OK_AND_ASSIGN(Model model,
                       Read(bytes, {}, Limits(), nullptr, {.kept_values = {"t", "y", "x"}}));
  ASSERT_EQ(model.graph.outputs.size(), 3);
  EXPECT_EQ(model.graph.value(model.graph.outputs[1]).name, "t");
  ASSERT_THAT(ops::InferTypes(model.graph), IsOk());
  // No node reads t any more.
  Graph changed = model.graph;
  changed.nodes[1].inputs[0] = changed.inputs[0];
  ASSERT_OK_AND_ASSIGN(const WrittenModel written, Write(model, changed, {}));
  const ModelProto after = ParseBytes(written.bytes);
  EXPECT_EQ(after.graph().node(0).output(0), "t");
  EXPECT_EQ(after.graph().node(1).input(0), "x");
  ASSERT_EQ(after.graph().output_size(), 1);
  EXPECT_EQ(after.graph().output(0).name(), "y");
}

TEST(WriterOptionsTest, OnlyWhatThereIsCanBeKept) {
  const std::string bytes =
      ModelAtOpset(13, "g (float[2] x) => (float[2] y) { y = Abs(x) }").SerializeAsString();
  for (const char* name : {"t", ""}) {
    EXPECT_THAT(Read(bytes, {}, Limits(), nullptr, {.kept_values = {name}}),
                HasReason(Reason::kOptionInvalid));
  }
}

// --- Constants ---

TEST(WriterOptionsTest, ConstantNodesBecomeInitializersOnlyWhenAskedFor) {
  ModelProto before = ModelAtOpset(
      13,
      "g (float[2] x) => (float[2] y) { c = Constant<value = float[2] {1, 2}>() y = Mul(x, c) }");
  EXPECT_EQ(OpsOf(RoundTrip(before)), "Constant,Mul");
  const WriteOptions options = {.constants_as_initializers = true};
  const ModelProto after = RoundTrip(before, options);
  EXPECT_EQ(OpsOf(after), "Mul");
  ASSERT_EQ(after.graph().initializer_size(), 1);
  EXPECT_EQ(after.graph().initializer(0).name(), "c");
  // There an initializer would be a new input.
  before.set_ir_version(3);
  EXPECT_EQ(OpsOf(RoundTrip(before, options)), "Constant,Mul");
}

}  // namespace
}  // namespace quotient::onnx
