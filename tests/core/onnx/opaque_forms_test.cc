// Forms of known operators that the canonical form cannot say: such nodes stay opaque and pass
// through untouched.

#include <ostream>
#include <string>

#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::OpsOf;
using ::quotient::testing::ReadProto;

struct OpaqueForm {
  const char* name;
  int opset;
  const char* graph;
};

void PrintTo(const OpaqueForm& form, std::ostream* out) { *out << form.name; }

const OpaqueForm kOpaqueForms[] = {
    {"TrainingBatchNormalization", 15,
     R"(g (float[1,2,3] x, float[2] s) => (float[1,2,3] y)
        { y = BatchNormalization<training_mode = 1>(x, s, s, s, s) })"},
    {"NonSpatialBatchNormalization", 7,
     R"(g (float[1,2,3] x, float[2,3] s) => (float[1,2,3] y)
        { y = BatchNormalization<spatial = 0>(x, s, s, s, s) })"},
    {"BatchNormalizationStatistics", 9,
     R"(g (float[1,2,3] x, float[2] s) => (float[1,2,3] y, float[2] m)
        { y, m = BatchNormalization(x, s, s, s, s) })"},
    {"MaxPoolIndices", 12,
     R"(g (float[1,1,4,4] x) => (float[1,1,3,3] y, int64[1,1,3,3] i)
        { y, i = MaxPool<kernel_shape = [2,2]>(x) })"},
    {"ShrinkingResize10", 10,
     R"(g (float[1,1,4,4] x) => (float[1,1,2,2] y) <float[4] s = {1, 1, 0.5, 0.5}>
        { y = Resize(x, s) })"},
    {"DynamicResize10", 10,
     "g (float[1,1,4,4] x, float[4] s) => (float[1,1,M,N] y) { y = Resize(x, s) }"},
    {"CastToFloat8", 19, "g (float[3] x) => (float8e4m3fn[3] y) { y = Cast<to = 17>(x) }"},
    {"CastToString", 13, "g (float[3] x) => (string[3] y) { y = Cast<to = 8>(x) }"},
    {"StringTensor", 13, "g (string[3] x) => (string[3] y) { y = Identity(x) }"},
    {"ConvTransposeSame10", 10,
     R"(g (float[1,1,4] x, float[1,1,3] w) => (float[1,1,8] y)
        { y = ConvTranspose<auto_pad = "SAME_UPPER", strides = [2]>(x, w) })"},
    {"OperatorOfALaterOpset", 13, "g (float[3] x) => (float[3] y) { y = Gelu(x) }"},
    {"UnknownAttribute", 13, "g (float[3] x) => (float[3] y) { y = Relu<speed = 9>(x) }"},
    {"UnknownOperator", 13, "g (float[3] x) => (float[3] y) { y = FancyRelu(x) }"},
    {"NoRowInTheTable", 13, "g (float[3] x) => (float[3] y) { y = RandomNormalLike(x) }"},
};

class OpaqueFormsTest : public ::testing::TestWithParam<OpaqueForm> {};

TEST_P(OpaqueFormsTest, PassesThroughUntouched) {
  const ::onnx::ModelProto before = ModelAtOpset(GetParam().opset, GetParam().graph);
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(before));
  ASSERT_EQ(model.graph.nodes.size(), 1u);
  ASSERT_TRUE(model.graph.nodes[0].is_opaque());
  EXPECT_EQ(model.graph.nodes[0].opaque->op, before.graph().node(0).op_type());
  const ::onnx::ModelProto after = ::quotient::testing::RoundTrip(before);
  EXPECT_EQ(after.SerializeAsString(), before.SerializeAsString());
}

INSTANTIATE_TEST_SUITE_P(All, OpaqueFormsTest, ::testing::ValuesIn(kOpaqueForms),
                         [](const auto& info) { return std::string(info.param.name); });

// How many outputs there are decides what equal parts are, so a missing one is no detail.
TEST(OpaqueFormsTest, ASplitWithAnOutputLeftOutStaysOpaque) {
  ::onnx::ModelProto proto = ModelAtOpset(13, "g (float[4] x) => (float[2] a) { a, b = Split(x) }");
  proto.mutable_graph()->mutable_node(0)->set_output(1, "");
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(proto));
  EXPECT_EQ(OpsOf(model.graph), "Opaque:Split");
}

TEST(OpaqueFormsTest, AConstantOfATypeThatIsNotComputedWithStaysOpaque) {
  ::onnx::ModelProto proto = ModelAtOpset(21, R"(
      g (int64[1] s) => (float[N] y)
      { t = ConstantOfShape<value = int8[1] {1}>(s)  y = Cast<to = 1>(t) })");
  auto* value = proto.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t();
  value->set_data_type(::onnx::TensorProto::FLOAT8E4M3FN);
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(proto));
  EXPECT_TRUE(model.graph.nodes[0].is_opaque());
}

}  // namespace
}  // namespace quotient::onnx
