// Bad models: a reason, and a message that names the place. Those whose external data are bad are
// in bad_external_data_test.cc, those whose functions or subgraphs are in bad_subgraph_test.cc.

#include "tests/core/onnx/bad_model.h"

#include <string>

#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using ::onnx::ModelProto;
using ::onnx::TensorProto;
using ::quotient::testing::BadModel;
using ::quotient::testing::BadModelName;
using ::quotient::testing::HasReason;
using ::quotient::testing::IsOk;
using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::ReadProto;
using ::quotient::testing::Weight;
using ::testing::HasSubstr;

::onnx::NodeProto* Node(ModelProto& model, int index = 0) {
  return model.mutable_graph()->mutable_node(index);
}

void SetDims(TensorProto* tensor, std::initializer_list<int64_t> dims) {
  tensor->clear_dims();
  for (int64_t dim : dims) tensor->add_dims(dim);
}

auto* InputDim(ModelProto& model) {
  return model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0);
}

class BadModelTest : public ::testing::TestWithParam<BadModel> {};

TEST_P(BadModelTest, IsRefusedWithReasonAndPlace) {
  ModelProto model = ModelAtOpset(13, R"(
      g (float[2,3] x) => (float[2,3] y)
      <float[3] w = {1, 2, 3}>
      { t = Add(x, w)  y = Relu(t) })");
  ASSERT_THAT(ReadProto(model), IsOk());
  GetParam().damage(model);
  EXPECT_THAT(ReadProto(model), HasReason(GetParam().reason, HasSubstr(GetParam().message)));
}

const BadModel kGraphCases[] = {
    {"NoGraph", [](ModelProto& m) { m.clear_graph(); }, Reason::kModelMalformed, "no graph"},
    {"NoOutputs", [](ModelProto& m) { m.mutable_graph()->clear_output(); }, Reason::kModelMalformed,
     "no outputs"},
    {"Cycle", [](ModelProto& m) { Node(m, 0)->set_input(1, "y"); }, Reason::kModelCyclic,
     "(Add): needs its own result"},
    {"SelfLoop", [](ModelProto& m) { Node(m, 1)->set_input(0, "y"); }, Reason::kModelCyclic,
     "(Relu)"},
    {"UnknownInput", [](ModelProto& m) { Node(m, 1)->set_input(0, "nowhere"); },
     Reason::kModelMalformed, "(Relu): no such input 'nowhere'"},
    {"TwoProducers", [](ModelProto& m) { Node(m, 1)->set_output(0, "t"); }, Reason::kModelMalformed,
     "another value has this name"},
    {"OutputIsInput", [](ModelProto& m) { Node(m, 0)->set_output(0, "x"); },
     Reason::kModelMalformed, "'x'"},
    {"InputTwice", [](ModelProto& m) { *m.mutable_graph()->add_input() = m.graph().input(0); },
     Reason::kModelMalformed, "input 'x'"},
    {"InitializerTwice",
     [](ModelProto& m) { *m.mutable_graph()->add_initializer() = m.graph().initializer(0); },
     Reason::kModelMalformed, "initializer 'w'"},
    {"OutputNotProduced",
     [](ModelProto& m) { m.mutable_graph()->mutable_output(0)->set_name("z"); },
     Reason::kModelMalformed, "output 'z'"},
    {"NamelessInitializer", [](ModelProto& m) { Weight(m)->clear_name(); }, Reason::kModelMalformed,
     "initializer"},
    {"NoOperator", [](ModelProto& m) { Node(m)->clear_op_type(); }, Reason::kModelMalformed,
     "no op_type"},
    {"NameWithNul", [](ModelProto& m) { Node(m)->set_name(std::string("a\0b", 3)); },
     Reason::kModelMalformed, "not UTF-8"},
    {"NameNotUtf8", [](ModelProto& m) { Node(m)->set_output(0, "\xc3\x28"); },
     Reason::kModelMalformed, "not UTF-8"},
    {"LongName", [](ModelProto& m) { Node(m)->set_name(std::string(5000, 'n')); },
     Reason::kModelMalformed, "5000 bytes"},
    {"AttributeTwice",
     [](ModelProto& m) {
       Node(m)->add_attribute()->set_name("a");
       Node(m)->add_attribute()->set_name("a");
     },
     Reason::kModelMalformed, "two attributes 'a'"},
    {"AttributeReferenceOutsideOfFunction",
     [](ModelProto& m) {
       auto* attribute = Node(m)->add_attribute();
       attribute->set_name("a");
       attribute->set_ref_attr_name("b");
     },
     Reason::kModelMalformed, "attribute 'a'"},
    {"TooManyInputs", [](ModelProto& m) { Node(m, 1)->add_input("x"); }, Reason::kModelMalformed,
     "(Relu): has 2 inputs"},
    {"TooFewInputs", [](ModelProto& m) { Node(m, 0)->mutable_input()->RemoveLast(); },
     Reason::kModelMalformed, "(Add): has 1 inputs"},
    {"RequiredInputOmitted", [](ModelProto& m) { Node(m, 0)->set_input(1, ""); },
     Reason::kModelMalformed, "(Add): input 1 is missing"},
    {"RequiredAttributeMissing", [](ModelProto& m) { Node(m, 1)->set_op_type("Cast"); },
     Reason::kModelMalformed, "(Cast): attribute 'to' is missing"},
    {"AttributeOfOtherKind",
     [](ModelProto& m) {
       Node(m, 1)->set_op_type("Softmax");
       auto* attribute = Node(m, 1)->add_attribute();
       attribute->set_name("axis");
       attribute->set_type(::onnx::AttributeProto::FLOAT);
     },
     Reason::kModelMalformed, "(Softmax): attribute 'axis'"},
    {"AxisOutOfRange",
     [](ModelProto& m) {
       Node(m, 1)->set_op_type("Softmax");
       auto* attribute = Node(m, 1)->add_attribute();
       attribute->set_name("axis");
       attribute->set_type(::onnx::AttributeProto::INT);
       attribute->set_i(40);
       *m.mutable_graph()->add_value_info() = m.graph().input(0);
       m.mutable_graph()->mutable_value_info(0)->set_name("t");
     },
     Reason::kModelShape, "(Softmax)"},
};

const BadModel kVersionCases[] = {
    {"OpsetTooNew", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(999); },
     Reason::kOpsetUnknown, "opset 999"},
    {"OpsetTooOld", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(6); },
     Reason::kOpsetUnknown, "opset 6"},
    {"OpsetNegative", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(-1); },
     Reason::kOpsetUnknown, "opset -1"},
    {"NoOpset", [](ModelProto& m) { m.clear_opset_import(); }, Reason::kModelMalformed,
     "domain ''"},
    {"OpsetTwice",
     [](ModelProto& m) {
       *m.add_opset_import() = m.opset_import(0);
       m.mutable_opset_import(1)->set_domain("ai.onnx");
     },
     Reason::kModelMalformed, "twice"},
    {"IrTooNew", [](ModelProto& m) { m.set_ir_version(1000); }, Reason::kOpsetUnknown,
     "IR version 1000"},
    {"IrMissing", [](ModelProto& m) { m.clear_ir_version(); }, Reason::kOpsetUnknown,
     "IR version 0"},
    {"DomainNotImported", [](ModelProto& m) { Node(m)->set_domain("com.acme"); },
     Reason::kModelMalformed, "'com.acme'"},
};

const BadModel kTensorCases[] = {
    {"TooFewElements", [](ModelProto& m) { SetDims(Weight(m), {4}); }, Reason::kModelMalformed,
     "initializer 'w': typed data holds 3, its type and dimensions need 4"},
    {"TooFewBytes",
     [](ModelProto& m) {
       Weight(m)->clear_float_data();
       Weight(m)->set_raw_data("1234");
     },
     Reason::kModelMalformed, "initializer 'w': raw_data holds 4"},
    {"NoData", [](ModelProto& m) { Weight(m)->clear_float_data(); }, Reason::kModelMalformed,
     "initializer 'w'"},
    {"DataTwice", [](ModelProto& m) { Weight(m)->set_raw_data("123456789012"); },
     Reason::kModelMalformed, "both raw_data and typed data"},
    {"DataOfOtherType", [](ModelProto& m) { Weight(m)->set_data_type(TensorProto::INT64); },
     Reason::kModelMalformed, "another type"},
    {"UnknownElementType", [](ModelProto& m) { Weight(m)->set_data_type(77); },
     Reason::kModelMalformed, "unknown element type 77"},
    {"NegativeDim", [](ModelProto& m) { SetDims(Weight(m), {-3}); }, Reason::kModelMalformed,
     "negative dimension -3"},
    {"HugeDim", [](ModelProto& m) { SetDims(Weight(m), {int64_t{1} << 41}); }, Reason::kLimitDims,
     "initializer 'w': dimension 2199023255552"},
    // The product is 2^64, which wraps to 0.
    {"WrappingDims",
     [](ModelProto& m) {
       SetDims(Weight(m), {int64_t{1} << 32, int64_t{1} << 32});
     },
     Reason::kLimitDims, "overflows"},
    {"ZeroHidesNoOverflow",
     [](ModelProto& m) {
       SetDims(Weight(m), {0, int64_t{1} << 40, int64_t{1} << 40});
     },
     Reason::kModelMalformed, "holds 3"},
    {"TooManyBytes", [](ModelProto& m) { SetDims(Weight(m), {int64_t{1} << 39}); },
     Reason::kLimitBytes, "initializer 'w'"},
    {"RankTooLarge",
     [](ModelProto& m) {
       for (int i = 0; i < 70; ++i) Weight(m)->add_dims(1);
     },
     Reason::kLimitDims, "rank 71"},
    {"Segment", [](ModelProto& m) { Weight(m)->mutable_segment()->set_begin(1); },
     Reason::kModelMalformed, "segments"},
    {"StringsInRawForm",
     [](ModelProto& m) {
       Weight(m)->clear_float_data();
       Weight(m)->set_data_type(TensorProto::STRING);
       Weight(m)->set_raw_data("abc");
     },
     Reason::kModelMalformed, "strings in raw form"},
    {"BadTensorInAttribute",
     [](ModelProto& m) {
       auto* attribute = Node(m)->add_attribute();
       attribute->set_name("table");
       attribute->mutable_t()->set_data_type(TensorProto::FLOAT);
       attribute->mutable_t()->add_dims(1000);
     },
     Reason::kModelMalformed, "attribute 'table' of node"},
    {"InputDimTooLarge", [](ModelProto& m) { InputDim(m)->set_dim_value(int64_t{1} << 50); },
     Reason::kLimitDims, "input 'x'"},
    {"InputTooLarge", [](ModelProto& m) { InputDim(m)->set_dim_value(int64_t{1} << 39); },
     Reason::kLimitBytes, "input 'x'"},
    {"InputSizeOverflows",
     [](ModelProto& m) {
       auto* shape = m.mutable_graph()
                         ->mutable_input(0)
                         ->mutable_type()
                         ->mutable_tensor_type()
                         ->mutable_shape();
       for (int i = 0; i < 3; ++i) shape->add_dim()->set_dim_value(int64_t{1} << 40);
     },
     Reason::kLimitDims, "input 'x'"},
    {"InputRankTooLarge",
     [](ModelProto& m) {
       auto* shape = m.mutable_graph()
                         ->mutable_input(0)
                         ->mutable_type()
                         ->mutable_tensor_type()
                         ->mutable_shape();
       for (int i = 0; i < 100'000; ++i) shape->add_dim();
     },
     Reason::kLimitDims, "input 'x': rank"},
    {"UnknownInputType",
     [](ModelProto& m) {
       m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
           -5);
     },
     Reason::kModelMalformed, "input 'x'"},
    {"DefaultOfOtherShape",
     [](ModelProto& m) {
       Weight(m)->set_name("x");
       Node(m)->set_input(1, "x");
     },
     Reason::kModelShape, "input 'x'"},
};

INSTANTIATE_TEST_SUITE_P(Graph, BadModelTest, ::testing::ValuesIn(kGraphCases), BadModelName);
INSTANTIATE_TEST_SUITE_P(Version, BadModelTest, ::testing::ValuesIn(kVersionCases), BadModelName);
INSTANTIATE_TEST_SUITE_P(Tensor, BadModelTest, ::testing::ValuesIn(kTensorCases), BadModelName);

}  // namespace
}  // namespace quotient::onnx
