// What a read model is: inputs and defaults, captures, opaque parts, facts, order.

#include "core/onnx/reader.h"

#include <string>

#include "tests/core/onnx/onnx_text.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::IsOk;
using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::ModelFromText;
using ::quotient::testing::MustFind;
using ::quotient::testing::OpsOf;
using ::quotient::testing::ReadProto;
using ::testing::ElementsAre;
using ::testing::Pair;

std::string NameOf(const model::Graph& graph, model::ValueId id) {
  return id.valid() ? graph.value(id).name : "";
}

std::vector<std::string> InputNames(const model::Graph& graph, const model::Node& node) {
  std::vector<std::string> names;
  for (model::ValueId id : node.inputs) names.push_back(NameOf(graph, id));
  return names;
}

TEST(ReaderTest, KeepsSymbolsAndUnknownDimensions) {
  ASSERT_OK_AND_ASSIGN(const Model model,
                       ReadProto(ModelAtOpset(13,
                                              "g (float[N,?,3] x, float s) => (float[N,?,3] y)"
                                              " { y = Mul(x, s) }")));
  EXPECT_EQ(model::ToString(model.graph.value(MustFind(model.graph, "x")).type), "float32[N,?,3]");
  EXPECT_EQ(model::ToString(model.graph.value(MustFind(model.graph, "s")).type), "float32[]");
}

TEST(ReaderTest, DescribesTheModel) {
  ::onnx::ModelProto proto = ModelFromText(R"(
      <ir_version: 8, opset_import: ["" : 15, "com.acme" : 3], producer_name: "pytorch",
       producer_version: "2.1">
      g (float[2] x) => (float[2] y) { a = Relu(x) b = Relu(a) y = com.acme.Foo(b) })");
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(proto));
  EXPECT_EQ(model.ir_version, 8);
  EXPECT_EQ(model.opset, 15);
  EXPECT_EQ(model.producer, "pytorch 2.1");
  EXPECT_THAT(model.op_counts, ElementsAre(Pair("Relu", 2), Pair("com.acme.Foo", 1)));
  EXPECT_THAT(model.opset_imports, ElementsAre(Pair("", 15), Pair("com.acme", 3)));
  EXPECT_FALSE(model.has_external_data);
}

TEST(ReaderTest, TheDefaultDomainHasTwoNames) {
  ::onnx::ModelProto proto = ModelAtOpset(13, "g (float[2] x) => (float[2] y) { y = Relu(x) }");
  proto.mutable_opset_import(0)->set_domain("ai.onnx");
  proto.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(proto));
  EXPECT_EQ(OpsOf(model.graph), "Relu");
}

// ONNX demands an order, but many tools do not.
TEST(ReaderTest, PutsNodesIntoOrder) {
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(ModelAtOpset(13, R"(
      g (float[2] x) => (float[2] y) { y = Abs(b) b = Exp(a) a = Relu(x) })")));
  EXPECT_EQ(OpsOf(model.graph), "Relu,Exp,Abs");
}

// --- Initializers ---

constexpr char kInitializerIsInput[] =
    "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }";

TEST(ReaderTest, InitializersOfInputsAreDefaultsThatCanBeOverridden) {
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(ModelAtOpset(13, kInitializerIsInput)));
  ASSERT_EQ(model.graph.inputs.size(), 2u);
  EXPECT_FALSE(model.graph.is_constant(model.graph.inputs[1]));
  ASSERT_TRUE(model.graph.defaults[1].has_value());
  EXPECT_EQ(model.graph.defaults[1]->GetDouble(1), 2);
}

TEST(ReaderTest, InitializersOfInputsAreFrozenOnDemand) {
  const std::string bytes = ModelAtOpset(13, kInitializerIsInput).SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const Model plain, Read(bytes, {}, Limits(), nullptr));
  EXPECT_EQ(plain.overridable_initializers, 1);
  EXPECT_EQ(plain.frozen_initializers, 0);
  ASSERT_OK_AND_ASSIGN(const Model model,
                       Read(bytes, {}, Limits(), nullptr, {.freeze_initializers = true}));
  EXPECT_EQ(model.overridable_initializers, 0);
  EXPECT_EQ(model.frozen_initializers, 1);
  ASSERT_EQ(model.graph.inputs.size(), 1u);
  EXPECT_TRUE(model.graph.is_constant(MustFind(model.graph, "w")));
}

TEST(ReaderTest, BeforeIrVersion4TheyAreConstants) {
  ::onnx::ModelProto proto = ModelAtOpset(8, kInitializerIsInput);
  proto.set_ir_version(3);
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(proto));
  ASSERT_EQ(model.graph.inputs.size(), 1u);
  EXPECT_TRUE(model.graph.is_constant(MustFind(model.graph, "w")));
}

TEST(ReaderTest, StringInitializersAreOpaque) {
  ::onnx::ModelProto proto =
      ModelAtOpset(13, "g (float[2] x) => (string[1] y) { z = Relu(x)  y = Identity(s) }");
  EXPECT_THAT(ReadProto(proto), HasReason(Reason::kModelMalformed));
  auto* tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name("s");
  tensor->set_data_type(::onnx::TensorProto::STRING);
  tensor->add_dims(1);
  tensor->add_string_data("text");
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(proto));
  EXPECT_EQ(OpsOf(model.graph), "Opaque:Initializer,Relu,Opaque:Identity");
}

// --- Opaque nodes ---

TEST(ReaderTest, SubgraphsCaptureByName) {
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(ModelAtOpset(13, R"(
      g (bool c, float[2] x) => (float[2] y)
      <float[2] w = {1, 2}>
      {
        t = Relu(x)
        y = If (c) <then_branch = a () => (float[2] p) { p = Add(t, w) },
                    else_branch = b () => (float[2] q) {
                      q = If (c) <then_branch = d () => (float[2] r) { r = Neg(x) },
                                  else_branch = e () => (float[2] s) { u = Abs(t) s = Abs(u) }> }>
      })")));
  ASSERT_EQ(OpsOf(model.graph), "Relu,Opaque:If");
  const model::Node& node = model.graph.nodes[1];
  EXPECT_EQ(node.opaque->first_captured_input, 1);
  EXPECT_THAT(InputNames(model.graph, node), ElementsAre("c", "t", "w", "c", "x"));
}

TEST(ReaderTest, LoopsCaptureWhatTheirBodyDoesNotDefine) {
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(ModelAtOpset(13, R"(
      g (int64 n, bool c, float[2] x) => (float[2] y) {
        t = Relu(x)
        y = Loop (n, c, x) <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] v2)
                            { k2 = Identity(k) v2 = Add(v, t) }>
      })")));
  const model::Node& node = model.graph.nodes[1];
  EXPECT_EQ(node.opaque->first_captured_input, 3);
  EXPECT_THAT(InputNames(model.graph, node), ElementsAre("n", "c", "x", "t"));
}

TEST(ReaderTest, CallsOfModelFunctionsAreOpaqueEvenInTheDefaultDomain) {
  const ::onnx::ModelProto proto = ModelFromText(R"(
      <ir_version: 8, opset_import: ["" : 13, "local" : 1]>
      g (float[2] x) => (float[2] y) { t = local.f(x)  y = Relu(t) }
      <domain: "local", opset_import: ["" : 13, "local" : 1]> f (a) => (b) { b = local.Mystery(a) }
      <domain: "", opset_import: ["" : 13]> Relu (a) => (b) { b = Neg(a) })");
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(proto));
  EXPECT_EQ(OpsOf(model.graph), "Opaque:local.f,Opaque:Relu");
}

TEST(ReaderTest, SequencesAreOpaque) {
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(ModelAtOpset(13, R"(
      g (float[2] x) => (seq(float[2]) y) { t = Relu(x)  s = SequenceConstruct(t, t)
                                            y = Identity(s) })")));
  EXPECT_EQ(OpsOf(model.graph), "Relu,Opaque:SequenceConstruct,Opaque:Identity");
}

TEST(ReaderTest, OptionalOutputsThatAreLeftOutDoNotCount) {
  ::onnx::ModelProto proto = ModelAtOpset(
      17, "g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization(x, s) }");
  proto.mutable_graph()->mutable_node(0)->add_output("");
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(proto));
  EXPECT_EQ(OpsOf(model.graph), "LayerNormalization");
}

TEST(ReaderTest, WeightsAreNotCopied) {
  ::onnx::ModelProto proto =
      ModelAtOpset(13, "g (float[1024] x) => (float[1024] y) <float[1024] w> { y = Add(x, w) }");
  auto* weight = proto.mutable_graph()->add_initializer();
  proto.mutable_graph()->clear_value_info();
  weight->set_name("w");
  weight->set_data_type(::onnx::TensorProto::FLOAT);
  weight->add_dims(1024);
  weight->set_data_location(::onnx::TensorProto::EXTERNAL);
  auto* entry = weight->add_external_data();
  entry->set_key("location");
  entry->set_value("w.bin");
  const std::string model_bytes = proto.SerializeAsString();
  const std::vector<float> data(1024, 2.0f);
  const absl::string_view file(reinterpret_cast<const char*>(data.data()), 4096);
  ASSERT_OK_AND_ASSIGN(const Model model, Read(model_bytes, {{"w.bin", file}}, Limits(), nullptr));
  EXPECT_TRUE(model.has_external_data);
  const auto& constant = model.graph.value(MustFind(model.graph, "w")).constant;
  EXPECT_EQ(static_cast<const void*>(constant->bytes().data()), data.data());
}

}  // namespace
}  // namespace quotient::onnx
