// Each operator in canonical form, written at every opset from 7 to the newest and read back: the
// same operator comes out, with the same numbers, and it can be written from the opset on that the
// table says, not before.

#include <ostream>
#include <string>
#include <vector>

#include "core/onnx/encode_node.h"
#include "core/onnx/schema.h"
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
using ::quotient::testing::MustParse;
using ::quotient::testing::ReadProto;
using ::quotient::testing::RunOnRamp;

struct Case {
  const char* name;
  int since;  // the first opset that can say it
  const char* graph;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const Case kCases[] = {
    {"Relu", 7, "graph g { input x: float32[2,3] y = Relu(x) output y }"},
    {"ReluOfIntegers", 14, "graph g { input x: int32[2,3] y = Relu(x) output y }"},
    {"AddOfBytes", 14, "graph g { input x: uint8[2] input z: uint8[2] y = Add(x, z) output y }"},
    {"MaxOfEqualShapes", 7,
     "graph g { input x: float32[2] input z: float32[2] y = Max(x, z) output y }"},
    {"MaxThatBroadcasts", 8,
     "graph g { input x: float32[2,3] input z: float32[3] y = Max(x, z) output y }"},
    {"Clip", 7, "graph g { input x: float32[6] y = Clip(x) {min=-0.5, max=1.5} output y }"},
    {"ClipOfIntegers", 12, "graph g { input x: int32[6] y = Clip(x) {min=0.0, max=2.0} output y }"},
    {"DynamicClip", 11,
     "graph g { input x: float32[6] input low: float32[] y = Clip(x, low) output y }"},
    {"Gelu", 20, "graph g { input x: float32[6] y = Gelu(x) output y }"},
    {"HardSwish", 14, "graph g { input x: float32[6] y = HardSwish(x) output y }"},
    {"Erf", 9, "graph g { input x: float32[6] y = Erf(x) output y }"},
    {"LayerNormalization", 17,
     R"(graph g { input x: float32[2,3] input s: float32[3]
        y = LayerNormalization(x, s) {epsilon=0.5} output y })"},
    {"SoftmaxOfTheLastAxis", 7, "graph g { input x: float32[2,3,4] y = Softmax(x) output y }"},
    {"SoftmaxOfAnotherAxis", 13,
     "graph g { input x: float32[2,3,4] y = Softmax(x) {axis=1} output y }"},
    {"ReduceMean", 7,
     "graph g { input x: float32[2,3,4] y = ReduceMean(x) {axes=[0,2], keepdims=0} output y }"},
    {"ReduceSum", 7, "graph g { input x: float32[2,3,4] y = ReduceSum(x) {axes=[1]} output y }"},
    {"ReduceMaxOfAll", 7, "graph g { input x: float32[2,3,4] y = ReduceMax(x) output y }"},
    {"Squeeze", 7, "graph g { input x: float32[2,1,4] y = Squeeze(x) {axes=[1]} output y }"},
    {"Unsqueeze", 7, "graph g { input x: float32[2,4] y = Unsqueeze(x) {axes=[0,3]} output y }"},
    {"Slice", 7,
     "graph g { input x: float32[4,6] y = Slice(x) {axes=[1], starts=[1], ends=[4]} output y }"},
    {"SliceWithSteps", 10,
     R"(graph g { input x: float32[4,6]
        y = Slice(x) {axes=[1], starts=[1], ends=[6], steps=[2]} output y })"},
    {"Pad", 7,
     "graph g { input x: float32[2,3] y = Pad(x) {pads=[0,1,1,0], constant_value=2.5} output y }"},
    {"PadByReflection", 7,
     R"(graph g { input x: float32[2,3] y = Pad(x) {pads=[0,1,0,1], mode="reflect"} output y })"},
    {"Split", 7,
     R"(graph g { input x: float32[2,5] (y, z) = Split(x) {axis=1, split=[2,3]}
        output y, z })"},
    {"Reshape", 7, "graph g { input x: float32[2,6] y = Reshape(x) {shape=[3,4]} output y }"},
    {"Expand", 8, "graph g { input x: float32[1,3] y = Expand(x) {shape=[2,3]} output y }"},
    {"Tile", 7, "graph g { input x: float32[2,3] y = Tile(x) {repeats=[2,1]} output y }"},
    {"Transpose", 7, "graph g { input x: float32[2,3] y = Transpose(x) {perm=[1,0]} output y }"},
    {"Gemm", 7,
     R"(graph g { input x: float32[2,3] input w: float32[3,4] input c: float32[4]
        y = Gemm(x, w, c) {alpha=0.5, beta=2.0} output y })"},
    {"GemmWithoutBias", 7,
     "graph g { input x: float32[2,3] input w: float32[3,4] y = Gemm(x, w) output y }"},
    {"BatchNormalization", 7,
     R"(graph g { input x: float32[1,2,3] const s: float32[2] = [1, 2]
        const b: float32[2] = [0.5, -1] const m: float32[2] = [0.1, 0.2]
        const v: float32[2] = [1, 4]
        y = BatchNormalization(x, s, b, m, v) {epsilon=0.25} output y })"},
    {"Conv", 7,
     R"(graph g { input x: float32[1,2,4,4] input w: float32[3,2,3,3]
        y = Conv(x, w) {pads=[1,1,1,1], strides=[2,2]} output y })"},
    {"MaxPool", 7,
     "graph g { input x: float32[1,1,4,4] y = MaxPool(x) {kernel_shape=[2,2]} output y }"},
    {"MaxPoolWithDilations", 10,
     R"(graph g { input x: float32[1,1,5,5]
        y = MaxPool(x) {dilations=[2,2], kernel_shape=[2,2]} output y })"},
    {"AveragePoolWithCeiling", 10,
     R"(graph g { input x: float32[1,1,5,5]
        y = AveragePool(x) {ceil_mode=1, kernel_shape=[2,2], strides=[2,2]} output y })"},
    {"ResizeAsUpsample", 7,
     R"(graph g { input x: float32[1,1,2,2]
        y = Resize(x) {coordinate_transformation_mode="asymmetric", mode="nearest",
                       nearest_mode="floor", scales=[1.0,1.0,2.0,2.0]} output y })"},
    {"Resize", 11,
     R"(graph g { input x: float32[1,1,2,2]
        y = Resize(x) {mode="linear", scales=[1.0,1.0,2.0,2.0]} output y })"},
    {"ResizeToSizes", 11,
     R"(graph g { input x: float32[1,1,2,2]
        y = Resize(x) {mode="linear", sizes=[1,1,3,3]} output y })"},
    {"Where", 9,
     R"(graph g { input c: bool[3] input x: float32[3] input z: float32[3]
        y = Where(c, x, z) output y })"},
    {"LessOrEqual", 12,
     "graph g { input x: float32[3] input z: float32[3] y = LessOrEqual(x, z) output y }"},
    {"CumSum", 11, "graph g { input x: float32[2,3] y = CumSum(x) {axis=1} output y }"},
    {"Trilu", 14, "graph g { input x: float32[3,3] y = Trilu(x) {k=1} output y }"},
    {"Cast", 7, "graph g { input x: float32[3] y = Cast(x) {to=7} output y }"},
    {"ConstantOfShape", 9,
     R"(graph g { input x: float32[2] s = Shape(x) c = ConstantOfShape(s) y = Add(x, c) output y })"},
    {"GatherNd", 11,
     R"(graph g { input x: float32[2,3] const i: int64[1,2] = [1, 2]
        y = GatherND(x, i) output y })"},
    {"Mod", 10, "graph g { input x: int32[3] const z: int32[1] = [2] y = Mod(x, z) output y }"},
};

// A model with the graph's interface, at that opset, which computes something else.
absl::StatusOr<Model> StubOf(const model::Graph& graph, int opset) {
  ::onnx::ModelProto proto;
  proto.set_ir_version(8);
  proto.add_opset_import()->set_version(opset);
  proto.mutable_graph()->set_name("stub");
  auto* domain = proto.add_opset_import();
  domain->set_domain("stub");
  domain->set_version(1);
  auto* node = proto.mutable_graph()->add_node();
  node->set_domain("stub");
  node->set_op_type("Stub");
  const auto describe = [&graph](model::ValueId id, ::onnx::ValueInfoProto* info) {
    const model::Value& value = graph.value(id);
    info->set_name(value.name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(static_cast<int32_t>(value.type.dtype));
    auto* shape = tensor->mutable_shape();
    for (int64_t dim : value.type.dims()) shape->add_dim()->set_dim_value(dim);
  };
  for (model::ValueId input : graph.inputs) {
    describe(input, proto.mutable_graph()->add_input());
    node->add_input(graph.value(input).name);
  }
  for (model::ValueId output : graph.outputs) {
    describe(output, proto.mutable_graph()->add_output());
    node->add_output(graph.value(output).name);
  }
  return ReadProto(proto);
}

class EveryOpsetTest : public ::testing::TestWithParam<Case> {};

TEST_P(EveryOpsetTest, WritesWhatReadsBackAsTheSame) {
  model::Graph graph = MustParse(GetParam().graph);
  ASSERT_THAT(ops::InferTypes(graph), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<model::Tensor> wanted, RunOnRamp(graph));
  for (int opset = kBroadcastingOpset; opset <= NewestOpset(); ++opset) {
    SCOPED_TRACE(opset);
    ASSERT_OK_AND_ASSIGN(const Model stub, StubOf(graph, opset));
    const absl::StatusOr<WrittenModel> written = Write(stub, graph, WriteOptions());
    bool can_write = true;
    for (const model::Node& node : graph.nodes) {
      can_write &= node.is_opaque() || EncodeNode(graph, node, opset).has_value();
    }
    EXPECT_EQ(can_write, written.ok());
    if (opset < GetParam().since) {
      EXPECT_THAT(written, HasReason(Reason::kOpsetUnknown));
      continue;
    }
    ASSERT_THAT(written, IsOk());
    EXPECT_EQ(written->opset, opset);
    ASSERT_OK_AND_ASSIGN(Model back, Read(written->bytes, {}, Limits(), nullptr));
    ASSERT_THAT(ops::InferTypes(back.graph), IsOk());
    // At old opsets a bias that was left out is written as zero.
    if (std::string(GetParam().name) != "GemmWithoutBias") {
      EXPECT_EQ(Describe(back.graph), Describe(graph));
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<model::Tensor> got, RunOnRamp(back.graph));
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(model::SameContent(got[i], wanted[i]));
  }
}

// From any opset below, the model is raised just as far as it has to be.
TEST_P(EveryOpsetTest, RaisesTheOpsetNoFurtherThanNeeded) {
  model::Graph graph = MustParse(GetParam().graph);
  ASSERT_THAT(ops::InferTypes(graph), IsOk());
  ASSERT_OK_AND_ASSIGN(const Model stub, StubOf(graph, kBroadcastingOpset));
  WriteOptions options;
  options.max_opset = NewestOpset();
  ASSERT_OK_AND_ASSIGN(const WrittenModel written, Write(stub, graph, options));
  EXPECT_EQ(written.opset, GetParam().since);
}

INSTANTIATE_TEST_SUITE_P(All, EveryOpsetTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quotient::onnx
