// Operators as older and newer opsets have them, read into the canonical form: the structure, and
// by the reference evaluator the numbers.

#include <ostream>
#include <string>
#include <vector>

#include "core/ops/infer_graph.h"
#include "tests/core/onnx/describe.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using ::quotient::testing::Describe;
using ::quotient::testing::HasReason;
using ::quotient::testing::IsOk;
using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::MustParse;
using ::quotient::testing::OpsOf;
using ::quotient::testing::ReadProto;
using ::quotient::testing::RunOnRamp;

struct Form {
  const char* name;
  int opset;
  const char* old;        // ONNX's text
  const char* canonical;  // ours
};

void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

constexpr char kUpsampled[] = R"(graph g { input x: float32[1,1,2,3]
    y = Resize(x) {coordinate_transformation_mode="asymmetric", mode="nearest",
                   nearest_mode="floor", scales=[1.0,1.0,2.0,3.0]} output y })";

const Form kForms[] = {
    {"Relu1", 1, "g (float[4] x) => (float[4] y) { y = Relu<consumed_inputs = [0]>(x) }",
     "graph g { input x: float32[4] y = Relu(x) output y }"},
    {"Reshape1", 1, "g (float[2,3] x) => (float[3,2] y) { y = Reshape<shape = [3,2]>(x) }",
     "graph g { input x: float32[2,3] y = Reshape(x) {shape=[3,2]} output y }"},
    {"Concat1", 3, "g (float[2,3] x) => (float[2,6] y) { y = Concat(x, x) }",
     "graph g { input x: float32[2,3] y = Concat(x, x) {axis=1} output y }"},
    {"Add6", 6,
     R"(g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}>
        { y = Add<broadcast = 1>(x, w) })",
     R"(graph g { input x: float32[2,3] const w: float32[3] = [1, 2, 3]
        y = Add(x, w) output y })"},
    {"Mul6LastAxis", 6,
     R"(g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}>
        { y = Mul<axis = 1, broadcast = 1>(x, w) })",
     R"(graph g { input x: float32[2,3] const w: float32[3] = [1, 2, 3]
        y = Mul(x, w) output y })"},
    {"Gemm6", 6,
     R"(g (float[2,3] x) => (float[2,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}, float[2] c = {7, 8}>
        { y = Gemm<broadcast = 1>(x, w, c) })",
     R"(graph g { input x: float32[2,3] const w: float32[3,2] = [1, 2, 3, 4, 5, 6]
        const c: float32[2] = [7, 8] y = Gemm(x, w, c) output y })"},
    {"Dropout6", 6, "g (float[4] x) => (float[4] y) { y = Dropout<is_test = 1, ratio = 0.25>(x) }",
     "graph g { input x: float32[4] y = Dropout(x) output y }"},
    {"BatchNormalization6", 6,
     R"(g (float[1,2,3] x) => (float[1,2,3] y)
        <float[2] s = {1, 2}, float[2] b = {0.5, -1}, float[2] m = {0.1, 0.2}, float[2] v = {1, 4}>
        { y = BatchNormalization<is_test = 1>(x, s, b, m, v) })",
     R"(graph g { input x: float32[1,2,3] const s: float32[2] = [1, 2]
        const b: float32[2] = [0.5, -1] const m: float32[2] = [0.1, 0.2]
        const v: float32[2] = [1, 4] y = BatchNormalization(x, s, b, m, v) output y })"},
    {"Conv1", 1,
     R"(g (float[1,1,3] x) => (float[1,1,2] y) <float[1,1,2] w = {1, 2}> { y = Conv(x, w) })",
     R"(graph g { input x: float32[1,1,3] const w: float32[1,1,2] = [1, 2]
        y = Conv(x, w) output y })"},
    {"DropoutThatTrainsByNothing", 13,
     R"(g (float[4] x) => (float[4] y) <float ratio = {0}, bool train = {1}>
        { y = Dropout(x, ratio, train) })",
     "graph g { input x: float32[4] y = Dropout(x) output y }"},
    {"Squeeze11", 11, "g (float[2,1,3] x) => (float[2,3] y) { y = Squeeze<axes = [1]>(x) }",
     "graph g { input x: float32[2,1,3] y = Squeeze(x) {axes=[1]} output y }"},
    {"Squeeze13", 13,
     "g (float[2,1,3] x) => (float[2,3] y) <int64[1] a = {-2}> { y = Squeeze(x, a) }",
     "graph g { input x: float32[2,1,3] y = Squeeze(x) {axes=[1]} output y }"},
    {"Unsqueeze11", 11, "g (float[2,3] x) => (float[2,1,3] y) { y = Unsqueeze<axes = [1]>(x) }",
     "graph g { input x: float32[2,3] y = Unsqueeze(x) {axes=[1]} output y }"},
    {"ReduceSum11", 11,
     "g (float[2,3] x) => (float[2] y) { y = ReduceSum<axes = [1], keepdims = 0>(x) }",
     "graph g { input x: float32[2,3] y = ReduceSum(x) {axes=[1], keepdims=0} output y }"},
    {"ReduceMean13", 13, "g (float[2,3] x) => (float[1,3] y) { y = ReduceMean<axes = [-2]>(x) }",
     "graph g { input x: float32[2,3] y = ReduceMean(x) {axes=[0]} output y }"},
    {"ReduceMaxAll11", 11, "g (float[2,3] x) => (float[1,1] y) { y = ReduceMax(x) }",
     "graph g { input x: float32[2,3] y = ReduceMax(x) output y }"},
    {"Slice9", 9,
     "g (float[4,6] x) => (float[4,2] y) { y = Slice<axes = [1], starts = [2], ends = [4]>(x) }",
     "graph g { input x: float32[4,6] y = Slice(x) {axes=[1], starts=[2], ends=[4]} output y }"},
    {"Clip6", 7, "g (float[8] x) => (float[8] y) { y = Clip<min = -1.0, max = 1.5>(x) }",
     "graph g { input x: float32[8] y = Clip(x) {min=-1.0, max=1.5} output y }"},
    {"Clip6Defaults", 7, "g (float[8] x) => (float[8] y) { y = Clip<min = 0.0>(x) }",
     "graph g { input x: float32[8] y = Clip(x) {min=0.0} output y }"},
    {"Pad10", 10,
     "g (float[2,3] x) => (float[2,6] y) { y = Pad<pads = [0,1,0,2], value = 1.5>(x) }",
     "graph g { input x: float32[2,3] y = Pad(x) {pads=[0,1,0,2], constant_value=1.5} output y }"},
    {"Dropout10", 10, "g (float[4] x) => (float[4] y) { y = Dropout<ratio = 0.25>(x) }",
     "graph g { input x: float32[4] y = Dropout(x) output y }"},
    {"BatchNormalization7", 7,
     R"(g (float[1,2,3] x) => (float[1,2,3] y)
        <float[2] s = {1, 2}, float[2] b = {0.5, -1}, float[2] m = {0.1, 0.2}, float[2] v = {1, 4}>
        { y = BatchNormalization<spatial = 1, momentum = 0.7, epsilon = 0.001>(x, s, b, m, v) })",
     R"(graph g { input x: float32[1,2,3] const s: float32[2] = [1, 2]
        const b: float32[2] = [0.5, -1] const m: float32[2] = [0.1, 0.2]
        const v: float32[2] = [1, 4]
        y = BatchNormalization(x, s, b, m, v) {epsilon=0.0010000000474974513} output y })"},
    {"BatchNormalization15", 15,
     R"(g (float[1,2,3] x) => (float[1,2,3] y)
        <float[2] s = {1, 2}, float[2] b = {0.5, -1}, float[2] m = {0.1, 0.2}, float[2] v = {1, 4}>
        { y = BatchNormalization<training_mode = 0>(x, s, b, m, v) })",
     R"(graph g { input x: float32[1,2,3] const s: float32[2] = [1, 2]
        const b: float32[2] = [0.5, -1] const m: float32[2] = [0.1, 0.2]
        const v: float32[2] = [1, 4] y = BatchNormalization(x, s, b, m, v) output y })"},
    {"Upsample7", 7,
     "g (float[1,1,2,3] x) => (float[1,1,4,9] y) { y = Upsample<scales = [1.0,1.0,2.0,3.0]>(x) }",
     kUpsampled},
    {"Upsample9", 9,
     R"(g (float[1,1,2,3] x) => (float[1,1,4,9] y) <float[4] s = {1, 1, 2, 3}>
        { y = Upsample(x, s) })",
     kUpsampled},
    {"Resize10", 10,
     R"(g (float[1,1,2,3] x) => (float[1,1,4,9] y) <float[4] s = {1, 1, 2, 3}>
        { y = Resize(x, s) })",
     kUpsampled},
    {"Resize11", 11,
     R"(g (float[1,1,2,3] x) => (float[1,1,4,9] y)
        <float[0] none = {}, float[4] s = {1, 1, 2, 3}>
        { y = Resize<coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
              (x, none, s) })",
     kUpsampled},
    {"Split11", 11,
     R"(g (float[2,5] x) => (float[2,2] y, float[2,3] z)
        { y, z = Split<axis = 1, split = [2,3]>(x) })",
     R"(graph g { input x: float32[2,5] (y, z) = Split(x) {axis=1, split=[2,3]} output y, z })"},
    {"Split13WithoutSizes", 13,
     "g (float[2,6] x) => (float[2,3] y, float[2,3] z) { y, z = Split<axis = 1>(x) }",
     R"(graph g { input x: float32[2,6] (y, z) = Split(x) {axis=1, split=[3,3]} output y, z })"},
    {"Softmax11LastAxis", 11, "g (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }",
     "graph g { input x: float32[2,3] y = Softmax(x) {axis=1} output y }"},
    {"LogSoftmax11Negative", 11,
     "g (float[2,3,2] x) => (float[2,3,2] y) { y = LogSoftmax<axis = -1>(x) }",
     "graph g { input x: float32[2,3,2] y = LogSoftmax(x) {axis=2} output y }"},
    {"Softmax13", 13, "g (float[2,3,2] x) => (float[2,3,2] y) { y = Softmax<axis = 1>(x) }",
     "graph g { input x: float32[2,3,2] y = Softmax(x) {axis=1} output y }"},
    {"Gemm7", 7,
     R"(g (float[2,3] x, float[3,4] w, float[4] c) => (float[2,4] y)
        { y = Gemm<alpha = 0.5>(x, w, c) })",
     R"(graph g { input x: float32[2,3] input w: float32[3,4] input c: float32[4]
        y = Gemm(x, w, c) {alpha=0.5} output y })"},
    {"CastSaturate19", 19, "g (float[3] x) => (int32[3] y) { y = Cast<to = 6, saturate = 0>(x) }",
     "graph g { input x: float32[3] y = Cast(x) {to=6} output y }"},
    {"CastRoundMode25", 25,
     R"(g (float[3] x) => (int32[3] y) { y = Cast<to = 6, round_mode = "down">(x) })",
     "graph g { input x: float32[3] y = Cast(x) {to=6} output y }"},
    {"MaxPoolStorageOrder", 12,
     R"(g (float[1,1,4,4] x) => (float[1,1,3,3] y)
        { y = MaxPool<kernel_shape = [2,2], storage_order = 1>(x) })",
     R"(graph g { input x: float32[1,1,4,4] y = MaxPool(x) {kernel_shape=[2,2]} output y })"},
    {"QuantizeLinear10", 10,
     R"(g (float[4] x) => (int8[4] y) <float s = {0.5}, int8 z = {3}>
        { y = QuantizeLinear(x, s, z) })",
     R"(graph g { input x: float32[4] const s: float32[] = [0.5] const z: int8[] = [3]
        y = QuantizeLinear(x, s, z) output y })"},
    {"QuantizeLinear21", 21,
     R"(g (float[2,3] x) => (uint8[2,3] y) <float[2] s = {0.5, 1}>
        { y = QuantizeLinear<axis = -2, block_size = 0, output_dtype = 2, saturate = 0>(x, s) })",
     R"(graph g { input x: float32[2,3] const s: float32[2] = [0.5, 1]
        y = QuantizeLinear(x, s) {axis=0} output y })"},
    {"DequantizeLinear13", 13,
     R"(g (uint8[2,3] x) => (float[2,3] y) <float[3] s = {0.5, 1, 2}, uint8[3] z = {1, 2, 3}>
        { y = DequantizeLinear<axis = -1>(x, s, z) })",
     R"(graph g { input x: uint8[2,3] const s: float32[3] = [0.5, 1, 2]
        const z: uint8[3] = [1, 2, 3] y = DequantizeLinear(x, s, z) output y })"},
    {"QuantizedAndBack", 13,
     R"(g (float[4] x) => (float[4] y) <float s = {0.5}, int8 z = {3}>
        { q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, s, z) })",
     R"(graph g { input x: float32[4] const s: float32[] = [0.5] const z: int8[] = [3]
        q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) output y })"},
    {"ConstantNodes", 13,
     R"(g (float[2] x) => (float[2] y) {
          c = Constant<value_floats = [1.0, 2.0]>()
          t = Add(x, c)
          d = Constant<value_float = 3.0>()
          y = Mul(t, d) })",
     R"(graph g { input x: float32[2] const c: float32[2] = [1, 2] const d: float32[] = [3]
        t = Add(x, c) y = Mul(t, d) output y })"},
};

class OldFormsTest : public ::testing::TestWithParam<Form> {};

TEST_P(OldFormsTest, MeansTheCanonicalForm) {
  ASSERT_OK_AND_ASSIGN(Model model, ReadProto(ModelAtOpset(GetParam().opset, GetParam().old)));
  ASSERT_THAT(ops::InferTypes(model.graph), IsOk());
  model::Graph expected = MustParse(GetParam().canonical);
  ASSERT_THAT(ops::InferTypes(expected), IsOk());
  EXPECT_EQ(Describe(model.graph), Describe(expected));

  ASSERT_OK_AND_ASSIGN(const std::vector<model::Tensor> got, RunOnRamp(model.graph));
  ASSERT_OK_AND_ASSIGN(const std::vector<model::Tensor> wanted, RunOnRamp(expected));
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(model::SameContent(got[i], wanted[i]));
}

// What nothing changed comes out in the form it went in, not in a newer one.
TEST_P(OldFormsTest, ComesOutAsItWentIn) {
  const ::onnx::ModelProto before = ModelAtOpset(GetParam().opset, GetParam().old);
  const ::onnx::ModelProto after = ::quotient::testing::RoundTrip(before);
  EXPECT_EQ(after.opset_import(0).version(), GetParam().opset);
  EXPECT_EQ(OpsOf(after), OpsOf(before));
  ASSERT_EQ(after.graph().node_size(), before.graph().node_size());
  for (int i = 0; i < before.graph().node_size(); ++i) {
    EXPECT_EQ(after.graph().node(i).SerializeAsString(),
              before.graph().node(i).SerializeAsString());
  }
}

INSTANTIATE_TEST_SUITE_P(All, OldFormsTest, ::testing::ValuesIn(kForms),
                         [](const auto& info) { return std::string(info.param.name); });

// Forms that have no equivalent, or one that is several nodes: opaque.
TEST(OldFormsTest, ThoseWithoutAnEquivalentPassThrough) {
  struct {
    int opset;
    const char* ops;
    const char* text;
  } forms[] = {
      // The second input's dimensions do not belong to the last ones of the first.
      {6, "Opaque:Add", R"(g (float[2,3,4] x) => (float[2,3,4] y) <float[3] w = {1, 2, 3}>
             { y = Add<axis = 1, broadcast = 1>(x, w) })"},
      {6, "Opaque:Add", R"(g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}>
             { y = Add<axis = 9223372036854775807, broadcast = 1>(x, w) })"},
      // Training.
      {6, "Opaque:Dropout", "g (float[4] x) => (float[4] y) { y = Dropout<ratio = 0.25>(x) }"},
      {13, "Opaque:Dropout",
       R"(g (float[4] x) => (float[4] y) <float ratio = {0.5}, bool train = {1}>
              { y = Dropout(x, ratio, train) })"},
      {13, "Opaque:Dropout", R"(g (float[4] x, float ratio) => (float[4] y) <bool train = {1}>
              { y = Dropout(x, ratio, train) })"},
      {13, "Opaque:Dropout",
       R"(g (float[4] x) => (float[4] y) <bool train = {1}> { y = Dropout(x, , train) })"},
      // A scale for each block, and types that are given by an attribute alone.
      {21, "Opaque:QuantizeLinear",
       R"(g (float[4] x) => (uint8[4] y) <float[2] s = {0.5, 1}>
          { y = QuantizeLinear<axis = 0, block_size = 2>(x, s) })"},
      {21, "Opaque:DequantizeLinear",
       R"(g (int8[4] x) => (float[4] y) <float[2] s = {0.5, 1}>
          { y = DequantizeLinear<axis = 0, block_size = 2>(x, s) })"},
      {21, "Opaque:QuantizeLinear", R"(g (float[4] x) => (int8[4] y) <float s = {0.5}>
          { y = QuantizeLinear<output_dtype = 3>(x, s) })"},
      // Their defaults were others.
      {1, "Opaque:Selu", "g (float[4] x) => (float[4] y) { y = Selu(x) }"},
  };
  for (const auto& [opset, ops, text] : forms) {
    ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(ModelAtOpset(opset, text)));
    EXPECT_EQ(OpsOf(model.graph), ops) << text;
    EXPECT_THAT(model.objections, ::testing::IsEmpty()) << text;
  }
}

// The node that makes no sense is none of the file's.
TEST(OldFormsTest, ASoftmaxOfSeveralNodesCanBePassedThrough) {
  const ::onnx::ModelProto proto = ModelAtOpset(
      11, R"(g (float[2,3] x) => (float[2,3] y) { t = Relu(x)  y = Softmax<axis = 5>(t) })");
  ASSERT_OK_AND_ASSIGN(Model model, ReadProto(proto));
  model::NodeId senseless;
  ASSERT_FALSE(ops::InferTypes(model.graph, &senseless).ok());
  ASSERT_TRUE(senseless.valid());
  const std::string& name = model.graph.value(model.graph.node(senseless).outputs[0]).name;
  ASSERT_TRUE(model.inner_values.contains(name)) << name;
  const ReadOptions options{.opaque_nodes = {{model.inner_values.at(name), "axis"}}};
  const std::string bytes = proto.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(model, Read(bytes, {}, Limits(), nullptr, options));
  EXPECT_EQ(OpsOf(model.graph), "Relu,Opaque:Softmax");
  EXPECT_THAT(ops::InferTypes(model.graph), IsOk());
}

TEST(OldFormsTest, AnOutputThatNothingReadsDoesNotCount) {
  const char* text = "g (float[4] x) => (float[4] y) { y, mask = Dropout<ratio = 0.25>(x) }";
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(ModelAtOpset(10, text)));
  EXPECT_EQ(OpsOf(model.graph), "Dropout");
  const ::onnx::ModelProto written = ::quotient::testing::RoundTrip(ModelAtOpset(10, text));
  EXPECT_THAT(written.graph().node(0).output(), ::testing::ElementsAre("y", ""));
  const char* read = R"(g (float[4] x) => (float[4] y, bool[4] z)
                        { y, mask = Dropout<ratio = 0.25>(x)  z = Not(mask) })";
  ASSERT_OK_AND_ASSIGN(const Model whole, ReadProto(ModelAtOpset(10, read)));
  EXPECT_EQ(OpsOf(whole.graph), "Opaque:Dropout,Not");
}

// Below opset 7 a node is written as it was read, or with an opset that has today's broadcasting.
TEST(OldFormsTest, WhatChangesBelowOpset7RaisesTheOpset) {
  const auto with_sum = [](model::Graph& graph) {
    const model::ValueId t = graph.nodes[0].outputs[0];
    graph.value(graph.outputs[0]).name = "old_y";
    const model::ValueId y = graph.AddOp("Add", {t, t}, {}, "y");
    graph.value(y).type = graph.value(t).type;
    graph.outputs[0] = y;
  };
  const ::onnx::ModelProto before =
      ModelAtOpset(6, "g (float[4] x) => (float[4] y) { t = Abs(x)  y = Relu(t) }");
  WriteOptions options;
  options.max_opset = 20;
  ASSERT_OK_AND_ASSIGN(const ::onnx::ModelProto after,
                       ::quotient::testing::WriteChanged(before, with_sum, options));
  EXPECT_EQ(after.opset_import(0).version(), 7);
  EXPECT_EQ(OpsOf(after), "Abs,Add");
  EXPECT_THAT(::quotient::testing::WriteChanged(before, with_sum),
              HasReason(Reason::kOpsetUnknown));
}

}  // namespace
}  // namespace quotient::onnx
