// Malformed models and those over a limit: a reason, and a message that names the place. Those
// whose external data are bad are in bad_external_data_test.cc, those whose functions or subgraphs
// are in bad_subgraph_test.cc, and what does no harm is in harmless_model_test.cc.

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
    {"OutputNotProduced",
     [](ModelProto& m) { m.mutable_graph()->mutable_output(0)->set_name("z"); },
     Reason::kModelMalformed, "output 'z'"},
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
};

INSTANTIATE_TEST_SUITE_P(Graph, BadModelTest, ::testing::ValuesIn(kGraphCases), BadModelName);
INSTANTIATE_TEST_SUITE_P(Tensor, BadModelTest, ::testing::ValuesIn(kTensorCases), BadModelName);

}  // namespace
}  // namespace quotient::onnx
