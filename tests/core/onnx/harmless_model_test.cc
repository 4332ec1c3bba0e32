// Models that ONNX's checker objects to, or that we cannot work on, and that do no harm: either the
// node in question is opaque and the objection is told, or the reason is one of those for which the
// model as a whole comes back untouched.

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/core/onnx/bad_model.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using ::onnx::ModelProto;
using ::quotient::testing::BadModel;
using ::quotient::testing::BadModelName;
using ::quotient::testing::HasReason;
using ::quotient::testing::IsOk;
using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::OpsOf;
using ::quotient::testing::ReadProto;
using ::quotient::testing::RoundTrip;
using ::quotient::testing::Weight;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

::onnx::NodeProto* Node(ModelProto& model, int index = 0) {
  return model.mutable_graph()->mutable_node(index);
}

ModelProto Whole() {
  return ModelAtOpset(13, R"(
      g (float[2,3] x) => (float[2,3] y)
      <float[3] w = {1, 2, 3}>
      { t = Add(x, w)  y = Relu(t) })");
}

void AddAttribute(::onnx::NodeProto* node, const char* name,
                  ::onnx::AttributeProto::AttributeType type, int64_t value) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  attribute->set_i(value);
}

// --- Models that come back untouched ---

class UntouchedModelTest : public ::testing::TestWithParam<BadModel> {};

TEST_P(UntouchedModelTest, HasAReasonOfItsOwn) {
  ModelProto model = Whole();
  ASSERT_THAT(ReadProto(model), IsOk());
  GetParam().damage(model);
  EXPECT_THAT(ReadProto(model), HasReason(GetParam().reason, HasSubstr(GetParam().message)));
}

const BadModel kUntouchedCases[] = {
    {"NoOutputs", [](ModelProto& m) { m.mutable_graph()->clear_output(); },
     Reason::kModelUnsupported, "no outputs"},
    {"InitializerTwice",
     [](ModelProto& m) { *m.mutable_graph()->add_initializer() = m.graph().initializer(0); },
     Reason::kModelUnsupported, "initializer 'w'"},
    {"NamelessInitializer",
     [](ModelProto& m) {
       *m.mutable_graph()->add_initializer() = m.graph().initializer(0);
       m.mutable_graph()->mutable_initializer(1)->clear_name();
     },
     Reason::kModelUnsupported, "initializer: has no name"},
    {"NameWithNul", [](ModelProto& m) { Node(m)->set_name(std::string("a\0b", 3)); },
     Reason::kModelUnsupported, "not UTF-8"},
    {"NameNotUtf8", [](ModelProto& m) { Node(m)->set_output(0, "\xc3\x28"); },
     Reason::kModelUnsupported, "not UTF-8"},
    {"LongName", [](ModelProto& m) { Node(m)->set_name(std::string(5000, 'n')); },
     Reason::kModelUnsupported, "5000 bytes"},
    {"DataTwice", [](ModelProto& m) { Weight(m)->set_raw_data("123456789012"); },
     Reason::kModelUnsupported, "both raw_data and typed data"},
    {"Segment", [](ModelProto& m) { Weight(m)->mutable_segment()->set_begin(1); },
     Reason::kModelUnsupported, "segments"},
    {"DefaultOfOtherShape",
     [](ModelProto& m) {
       Weight(m)->set_name("x");
       Node(m)->set_input(1, "x");
     },
     Reason::kModelShape, "input 'x'"},
    {"OpsetTooNew", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(999); },
     Reason::kOpsetUnknown, "opset 999"},
    {"OpsetNegative", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(-1); },
     Reason::kOpsetUnknown, "opset -1"},
    {"NoOpset", [](ModelProto& m) { m.clear_opset_import(); }, Reason::kOpsetUnknown,
     "without importing it"},
    {"TwoOpsets",
     [](ModelProto& m) {
       *m.add_opset_import() = m.opset_import(0);
       m.mutable_opset_import(1)->set_domain("ai.onnx");
       m.mutable_opset_import(1)->set_version(12);
     },
     Reason::kOpsetUnknown, "in versions 13 and 12"},
    {"IrTooNew", [](ModelProto& m) { m.set_ir_version(1000); }, Reason::kOpsetUnknown,
     "IR version 1000"},
};

INSTANTIATE_TEST_SUITE_P(All, UntouchedModelTest, ::testing::ValuesIn(kUntouchedCases),
                         BadModelName);

// --- Nodes that come back untouched ---

struct Objected {
  const char* name;
  std::function<void(ModelProto&)> damage;
  const char* ops;        // after reading
  const char* objection;  // a part of it
};

void PrintTo(const Objected& model, std::ostream* out) { *out << model.name; }

class ObjectionTest : public ::testing::TestWithParam<Objected> {};

TEST_P(ObjectionTest, IsToldAndTheNodePassesThrough) {
  ModelProto model = Whole();
  ASSERT_OK_AND_ASSIGN(const Model whole, ReadProto(model));
  EXPECT_THAT(whole.objections, IsEmpty());
  GetParam().damage(model);
  ASSERT_OK_AND_ASSIGN(const Model read, ReadProto(model));
  EXPECT_THAT(read.objections,
              ElementsAre(Field(&ObjectionAt::text, HasSubstr(GetParam().objection))));
  EXPECT_EQ(OpsOf(read.graph), GetParam().ops);
  EXPECT_EQ(RoundTrip(model).graph().node(1).SerializeAsString(),
            model.graph().node(1).SerializeAsString());
}

const Objected kObjectedCases[] = {
    {"UnknownOperator", [](ModelProto& m) { Node(m, 1)->set_op_type("Foo"); }, "Add,Opaque:Foo",
     "(Foo): opset 13 has no such operator"},
    {"NoOperator", [](ModelProto& m) { Node(m, 1)->clear_op_type(); },
     "Add,Opaque:", "(): opset 13 has no such operator"},
    {"DeprecatedOperator", [](ModelProto& m) { Node(m, 1)->set_op_type("Upsample"); },
     "Add,Opaque:Upsample", "(Upsample): ONNX has deprecated this operator as it is in opset 13"},
    {"AttributeTwice",
     [](ModelProto& m) {
       Node(m, 1)->set_op_type("Softmax");
       AddAttribute(Node(m, 1), "axis", ::onnx::AttributeProto::INT, 1);
       AddAttribute(Node(m, 1), "axis", ::onnx::AttributeProto::INT, 0);
     },
     "Add,Opaque:Softmax", "two attributes 'axis'"},
    {"UnknownAttribute",
     [](ModelProto& m) { AddAttribute(Node(m, 1), "a", ::onnx::AttributeProto::INT, 1); },
     "Add,Opaque:Relu", "attribute 'a' is none of the operator's"},
    {"AttributeReferenceOutsideOfFunction",
     [](ModelProto& m) {
       Node(m, 1)->set_op_type("Softmax");
       AddAttribute(Node(m, 1), "axis", ::onnx::AttributeProto::INT, 1);
       Node(m, 1)->mutable_attribute(0)->set_ref_attr_name("b");
     },
     "Add,Opaque:Softmax", "attribute 'axis' refers to one of a function"},
    {"TooManyInputs", [](ModelProto& m) { Node(m, 1)->add_input("x"); }, "Add,Opaque:Relu",
     "(Relu): has 2 inputs"},
    {"TooFewInputs", [](ModelProto& m) { Node(m, 0)->mutable_input()->RemoveLast(); },
     "Opaque:Add,Relu", "(Add): has 1 inputs"},
    {"RequiredInputOmitted", [](ModelProto& m) { Node(m, 0)->set_input(1, ""); }, "Opaque:Add,Relu",
     "(Add): input 1 is missing"},
    {"TooManyOutputs", [](ModelProto& m) { Node(m, 1)->add_output("z"); }, "Add,Opaque:Relu",
     "(Relu): has 2 outputs"},
    {"RequiredAttributeMissing", [](ModelProto& m) { Node(m, 1)->set_op_type("Cast"); },
     "Add,Opaque:Cast", "(Cast): attribute 'to' is missing"},
    {"AttributeOfOtherKind",
     [](ModelProto& m) {
       Node(m, 1)->set_op_type("Softmax");
       AddAttribute(Node(m, 1), "axis", ::onnx::AttributeProto::FLOAT, 1);
     },
     "Add,Opaque:Softmax", "(Softmax): attribute 'axis' is of kind 1, not 2"},
    {"AxisOutOfRange",
     [](ModelProto& m) {
       Node(m, 1)->set_op_type("Softmax");
       Node(m, 1)->set_input(0, "x");  // its rank is known when nodes are read
       AddAttribute(Node(m, 1), "axis", ::onnx::AttributeProto::INT, 40);
     },
     "Add,Opaque:Softmax", "(Softmax): axis 40"},
    {"ValueTooLarge",
     [](ModelProto& m) {
       *m.mutable_graph()->add_value_info() = m.graph().input(0);
       auto* info = m.mutable_graph()->mutable_value_info(0);
       info->set_name("t");
       auto* type = info->mutable_type()->mutable_tensor_type();
       type->mutable_shape()->mutable_dim(0)->set_dim_value(int64_t{1} << 50);
     },
     "Add,Relu", "value_info 't': dimension 1125899906842624"},
    {"OutputOfNoType",
     [](ModelProto& m) {
       auto* type = m.mutable_graph()->mutable_output(0)->mutable_type();
       type->mutable_tensor_type()->set_elem_type(77);
     },
     "Add,Relu", "output 'y': unknown element type 77"},
    {"InputWithoutType", [](ModelProto& m) { m.mutable_graph()->mutable_input(0)->clear_type(); },
     "Add,Relu", "input 'x': has no type"},
};

INSTANTIATE_TEST_SUITE_P(All, ObjectionTest, ::testing::ValuesIn(kObjectedCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ObjectionTest, AnIfWithoutElse) {
  const ModelProto model = ModelAtOpset(13, R"(
      g (bool c, float[2] x) => (float[2] y) {
        t = Relu(x)
        y = If (c) <then_branch = a () => (float[2] p) { p = Relu(t) }>
      })");
  ASSERT_OK_AND_ASSIGN(const Model read, ReadProto(model));
  EXPECT_THAT(read.objections,
              ElementsAre(Field(&ObjectionAt::text,
                                HasSubstr("(If): attribute 'else_branch' is missing"))));
  EXPECT_EQ(OpsOf(read.graph), "Relu,Opaque:If");
}

TEST(ObjectionTest, BranchesThatDisagreeUnderBothNamesOfTheDefaultDomain) {
  ModelProto model = ModelAtOpset(13, R"(
      g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = a () => (float[2] p) { p = Relu(x) },
                    else_branch = b () => (float[2] q, float[2] r) { q = Relu(x) r = Abs(x) }>
      })");
  for (const char* domain : {"", "ai.onnx"}) {
    model.mutable_graph()->mutable_node(0)->set_domain(domain);
    ASSERT_OK_AND_ASSIGN(const Model read, ReadProto(model));
    EXPECT_THAT(read.objections,
                ElementsAre(Field(&ObjectionAt::text, HasSubstr("else_branch has 2"))));
  }
}

// --- What nobody objects to any more ---

// ONNX Runtime runs what protobuf reads: 100 messages in each other, of which a subgraph takes
// three.
TEST(HarmlessModelTest, SubgraphsAsDeepAsProtobufReads) {
  for (const int depth : {31, 32, 33}) {
    std::string value = "Relu(x)";
    for (int i = depth; i > 0; --i) {
      value = absl::StrCat("If (c) <then_branch = t () => (float[] p", i, ") { p", i, " = ", value,
                           " }, else_branch = e () => (float[] q", i, ") { q", i, " = Abs(x) }>");
    }
    const ModelProto model = ModelAtOpset(
        13, absl::StrCat("g (bool c, float[2] x) => (float[2] y) { y = ", value, " }"));
    if (depth > 32) {
      EXPECT_FALSE(ModelProto().ParseFromString(model.SerializeAsString()));
      EXPECT_THAT(ReadProto(model), HasReason(Reason::kLimitDepth));
    } else {
      EXPECT_EQ(RoundTrip(model).graph().node(0).SerializeAsString(),
                model.graph().node(0).SerializeAsString());
    }
  }
}

TEST(HarmlessModelTest, VersionsThatAreOldOrSaidTwice) {
  for (const auto& change : std::initializer_list<std::function<void(ModelProto&)>>{
           [](ModelProto& m) { m.clear_ir_version(); }, [](ModelProto& m) { m.set_ir_version(2); },
           [](ModelProto& m) {
             *m.add_opset_import() = m.opset_import(0);
             m.mutable_opset_import(1)->set_domain("ai.onnx");
           }}) {
    ModelProto model = Whole();
    change(model);
    ASSERT_OK_AND_ASSIGN(const Model read, ReadProto(model));
    EXPECT_EQ(OpsOf(read.graph), "Add,Relu");
    EXPECT_THAT(read.objections, IsEmpty());
  }
}

// Runtimes know some domains without being told.
TEST(HarmlessModelTest, ADomainThatIsNotImported) {
  ModelProto model = Whole();
  Node(model, 1)->set_domain("com.acme");
  ASSERT_OK_AND_ASSIGN(const Model read, ReadProto(model));
  EXPECT_EQ(OpsOf(read.graph), "Add,Opaque:com.acme.Relu");
}

// All outputs of a recurrent network are optional, and any output may have no name.
TEST(HarmlessModelTest, ANodeThatMakesNothing) {
  const struct {
    const char* op;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
  } nodes[] = {{"LSTM", {"x", "w", "w"}, {}},
               {"LSTM", {"x", "w", "w"}, {"", ""}},
               {"Shape", {"x"}, {""}},
               {"Shape", {"x"}, {}},
               {"Identity", {"x"}, {""}},
               {"Softmax", {"x"}, {""}},
               {"Split", {"x"}, {}},
               {"Constant", {}, {""}},
               // Nothing reads the mask.
               {"Dropout", {"x"}, {"", "mask"}}};
  for (const int opset : {11, 13}) {
    for (const auto& [op, inputs, outputs] : nodes) {
      SCOPED_TRACE(op);
      ModelProto model = Whole();
      model.mutable_opset_import(0)->set_version(opset);
      ::onnx::NodeProto* node = model.mutable_graph()->add_node();
      node->set_op_type(op);
      for (const std::string& input : inputs) node->add_input(input);
      for (const std::string& output : outputs) node->add_output(output);
      ASSERT_OK_AND_ASSIGN(const Model read, ReadProto(model));
      EXPECT_EQ(OpsOf(read.graph), absl::StrCat("Add,Relu,Opaque:", op));
      EXPECT_EQ(RoundTrip(model).graph().node_size(), 3);
    }
  }
}

}  // namespace
}  // namespace quotient::onnx
