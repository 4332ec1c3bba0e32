// What comes out: everything the model had beside its graph, and graphs that were changed.

#include "core/onnx/writer.h"

#include <string>

#include "absl/strings/str_join.h"
#include "core/ops/infer_graph.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using model::Graph;
using model::ValueId;
using ::onnx::ModelProto;
using ::quotient::testing::HasReason;
using ::quotient::testing::IsOk;
using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::ModelFromText;
using ::quotient::testing::MustFind;
using ::quotient::testing::MustParse;
using ::quotient::testing::ParseBytes;
using ::quotient::testing::ReadProto;
using ::quotient::testing::RoundTrip;
using ::quotient::testing::WriteChanged;
using ::testing::ElementsAre;

std::vector<std::string> InitializerNames(const ModelProto& model) {
  std::vector<std::string> names;
  for (const auto& tensor : model.graph().initializer()) names.push_back(tensor.name());
  return names;
}

std::string NodeText(const ModelProto& model) {
  std::string text;
  for (const auto& node : model.graph().node()) {
    absl::StrAppend(&text, absl::StrJoin(node.output(), ","), "=", node.op_type(), "(",
                    absl::StrJoin(node.input(), ","), ") ");
  }
  return text;
}

// --- Unchanged models ---

// With all the things that a model can carry; unknown fields too, as a later ONNX would add them.
ModelProto RichModel() {
  ModelProto model = ModelFromText(R"(
      <ir_version: 10, opset_import: ["" : 17, "local" : 1, "com.acme" : 2],
       producer_name: "me", doc_string: "a model", model_version: 7,
       metadata_props: ["author" : "somebody"]>
      g (float[N,4] x, float[4] unused, float[4] scale) => (float[N,4] y, float[M,4] z)
      <float[4] scale = {1, 2, 3, 4}, float[4] w = {4, 3, 2, 1}, float[N,4] a>
      {
        a = Mul(x, scale)
        b = Add(a, w)
        c = local.f(b)
        y = Softmax<axis = -1>(c)
        z = com.acme.Foo<level = 3>(c)
      }
      <domain: "local", opset_import: ["local" : 1]> f (p) => (q) { q = local.Mystery(p) })");
  auto* graph = model.mutable_graph();
  graph->set_doc_string("the graph");
  for (int i = 0; i < graph->node_size(); ++i) {
    graph->mutable_node(i)->set_name(absl::StrCat("node", i));
    graph->mutable_node(i)->set_doc_string(absl::StrCat("doc of ", i));
    auto* entry = graph->mutable_node(i)->add_metadata_props();
    entry->set_key("namespace");
    entry->set_value(absl::StrCat("layer", i));
  }
  graph->mutable_initializer(1)->set_doc_string("weights");
  graph->mutable_input(0)->set_doc_string("pixels");
  auto* annotation = graph->add_quantization_annotation();
  annotation->set_tensor_name("b");
  auto* parameter = annotation->add_quant_parameter_tensor_names();
  parameter->set_key("SCALE_TENSOR");
  parameter->set_value("w");
  model.mutable_unknown_fields()->AddLengthDelimited(1000, "new");
  graph->mutable_unknown_fields()->AddLengthDelimited(1000, "new");
  graph->mutable_node(0)->mutable_unknown_fields()->AddLengthDelimited(1000, "new");
  graph->mutable_node(3)->mutable_attribute(0)->mutable_unknown_fields()->AddLengthDelimited(1000,
                                                                                             "new");
  graph->mutable_initializer(1)->mutable_unknown_fields()->AddLengthDelimited(1000, "new");
  graph->mutable_input(1)->mutable_unknown_fields()->AddLengthDelimited(1000, "new");
  return model;
}

TEST(WriterTest, AnUnchangedModelComesOutByteForByte) {
  const ModelProto before = RichModel();
  EXPECT_EQ(RoundTrip(before).SerializeAsString(), before.SerializeAsString());
}

TEST(WriterTest, EqualGraphsGiveEqualBytes) {
  const ModelProto before = RichModel();
  EXPECT_EQ(RoundTrip(before).SerializeAsString(), RoundTrip(before).SerializeAsString());
}

TEST(WriterTest, SubgraphsComeOutByteForByte) {
  const ModelProto before = ModelAtOpset(13, R"(
      g (bool c, int64 n, float[2] x) => (float[2] y)
      <float[2] w = {1, 2}>
      {
        t = Relu(x)
        u = If (c) <then_branch = a () => (float[2] p) { p = Add(t, w) },
                    else_branch = b () => (float[2] q) { q = Neg(x) }>
        y = Loop (n, c, u) <body = l (int64 i, bool k, float[2] v) => (bool k2, float[2] v2)
                            { k2 = Identity(k) v2 = Add(v, t) }>
      })");
  EXPECT_EQ(RoundTrip(before).SerializeAsString(), before.SerializeAsString());
}

::onnx::SparseTensorProto SparseVector(const char* name) {
  ::onnx::SparseTensorProto sparse;
  sparse.mutable_values()->set_name(name);
  sparse.mutable_values()->set_data_type(::onnx::TensorProto::FLOAT);
  sparse.mutable_values()->add_dims(1);
  sparse.mutable_values()->add_float_data(2);
  sparse.mutable_indices()->set_data_type(::onnx::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(1);
  sparse.mutable_indices()->add_int64_data(3);
  sparse.add_dims(4);
  return sparse;
}

TEST(WriterTest, WhatNoTensorCanHoldComesOutByteForByte) {
  ModelProto before = ModelAtOpset(13, R"(
      g (float[4] x) => (string[1] a, float[4] b, float6e2m3[2048] c)
      { a = Identity(text)  b = Add(x, sparse)  c = com.acme.Foo(six) })");
  before.add_opset_import()->set_domain("com.acme");
  before.mutable_opset_import(1)->set_version(1);
  auto* graph = before.mutable_graph();
  auto* text = graph->add_initializer();
  text->set_name("text");
  text->set_data_type(::onnx::TensorProto::STRING);
  text->add_dims(1);
  text->add_string_data("a string");
  auto* six = graph->add_initializer();  // large enough to be set aside
  six->set_name("six");
  six->set_data_type(::onnx::TensorProto::FLOAT6E2M3);
  six->add_dims(2048);
  six->set_raw_data(std::string(1536, '6'));
  *graph->add_sparse_initializer() = SparseVector("sparse");
  EXPECT_EQ(RoundTrip(before).SerializeAsString(), before.SerializeAsString());
}

TEST(WriterTest, AnInputKeepsItsSparseDefault) {
  ModelProto before =
      ModelAtOpset(13, "g (float[4] x, float[4] w) => (float[4] y) { y = Add(x, w) }");
  *before.mutable_graph()->add_sparse_initializer() = SparseVector("w");
  EXPECT_EQ(RoundTrip(before).SerializeAsString(), before.SerializeAsString());
}

TEST(WriterTest, TrainingInformationKeepsAllInitializers) {
  ModelProto before =
      ModelAtOpset(13, "g (float[2] x) => (float[2] y) <float[1] step = {1}> { y = Relu(x) }");
  auto* training = before.add_training_info();
  training->mutable_algorithm()->set_name("train");
  auto* binding = training->add_update_binding();
  binding->set_key("step");
  binding->set_value("next_step");
  EXPECT_EQ(RoundTrip(before).SerializeAsString(), before.SerializeAsString());
}

TEST(WriterTest, DeadInitializersGo) {
  const ModelProto before = ModelAtOpset(13, R"(
      g (float[2] x) => (float[2] y) <float[2] dead = {1, 2}> { y = Relu(x) })");
  EXPECT_THAT(InitializerNames(RoundTrip(before)), ElementsAre());
}

TEST(WriterTest, ParametersComeBackAsTheConstantsTheyWere) {
  const ModelProto before = ModelAtOpset(13, R"(
      g (float[2,3] x) => (float[3,2] y)
      <int64[2] shape = {3, 2}> { t = Relu(x)  y = Reshape(t, shape) })");
  EXPECT_EQ(RoundTrip(before).SerializeAsString(), before.SerializeAsString());
}

// --- Changed graphs ---

// Replaces all uses of one value by another, outputs included.
void Replace(Graph& graph, ValueId from, ValueId to) {
  for (model::Node& node : graph.nodes) {
    for (ValueId& input : node.inputs) {
      if (input == from) input = to;
    }
  }
  for (ValueId& output : graph.outputs) {
    if (output == from) output = to;
  }
}

TEST(WriterTest, KeepsDescriptionsOfWhatSurvives) {
  ASSERT_OK_AND_ASSIGN(const ModelProto after, WriteChanged(RichModel(), [](Graph& graph) {
                         Replace(graph, MustFind(graph, "b"), MustFind(graph, "a"));
                       }));
  // b is gone, with its annotation and the weights that only they used; a is still described.
  EXPECT_EQ(after.graph().quantization_annotation_size(), 0);
  EXPECT_THAT(InitializerNames(after), ElementsAre("scale"));
  ASSERT_EQ(after.graph().value_info_size(), 1);
  EXPECT_EQ(after.graph().value_info(0).name(), "a");
  EXPECT_EQ(after.graph().node(0).doc_string(), "doc of 0");
  EXPECT_EQ(after.graph().input_size(), 3);
  EXPECT_EQ(after.graph().output(1).SerializeAsString(),
            RichModel().graph().output(1).SerializeAsString());
}

TEST(WriterTest, ChangedAttributesAreWrittenAndTheNodeKeepsItsDocumentation) {
  ModelProto before =
      ModelAtOpset(13, "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }");
  before.mutable_graph()->mutable_node(0)->set_name("attention");
  before.mutable_graph()->mutable_node(0)->set_doc_string("why");
  ASSERT_OK_AND_ASSIGN(const ModelProto after, WriteChanged(before, [](Graph& graph) {
                         graph.nodes[0].attributes.Set("axis", int64_t{0});
                       }));
  const auto& node = after.graph().node(0);
  EXPECT_EQ(node.attribute(0).i(), 0);
  EXPECT_EQ(node.name(), "attention");
  EXPECT_EQ(node.doc_string(), "why");
}

TEST(WriterTest, OutputsKeepTheirNamesWhateverProducesThem) {
  const ModelProto before = ModelAtOpset(13, R"(
      g (float[2] x) => (float[2] same, float[2] twin, float[2] through, float[2] fixed)
      <float[2] w = {1, 2}>
      { same = Relu(x)  twin = Abs(same)  through = Neg(x)  fixed = Exp(w) })");
  ASSERT_OK_AND_ASSIGN(const ModelProto after, WriteChanged(before, [](Graph& graph) {
                         graph.outputs[1] = graph.outputs[0];
                         graph.outputs[2] = graph.inputs[0];
                         graph.outputs[3] = MustFind(graph, "w");
                       }));
  EXPECT_EQ(NodeText(after),
            "through=Identity(x) fixed=Identity(w) same=Relu(x) twin=Identity(same) ");
  EXPECT_EQ(after.graph().output(3).name(), "fixed");
}

TEST(WriterTest, AnInputThatWasAnOutputNeedsNoNode) {
  const ModelProto before = ModelAtOpset(13, R"(
      g (float[2] x) => (float[2] x, float[2] w, float[2] y)
      <float[2] w = {1, 2}> { y = Relu(x) })");
  EXPECT_EQ(RoundTrip(before).SerializeAsString(), before.SerializeAsString());
}

TEST(WriterTest, CapturedNamesSurviveWhateverProducesTheValue) {
  const ModelProto before = ModelAtOpset(13, R"(
      g (bool c, float[2] x) => (float[2] y) {
        t = Relu(x)
        u = Abs(t)
        y = If (c) <then_branch = a () => (float[2] p) { p = Neg(u) },
                    else_branch = b () => (float[2] q) { q = Neg(t) }>
      })");
  // The branches read t and u by name; both are now what x is.
  ASSERT_OK_AND_ASSIGN(const ModelProto after, WriteChanged(before, [](Graph& graph) {
                         Replace(graph, MustFind(graph, "t"), graph.inputs[1]);
                         Replace(graph, MustFind(graph, "u"), graph.inputs[1]);
                       }));
  EXPECT_EQ(NodeText(after), "u=Identity(x) t=Identity(x) y=If(c) ");
  EXPECT_THAT(ReadProto(after), IsOk());
}

TEST(WriterTest, NewNamesAvoidThoseInSubgraphs) {
  const ModelProto before = ModelAtOpset(13, R"(
      g (bool c, float[2] x) => (float[2] y) {
        t = If (c) <then_branch = a () => (float[2] inner) { inner = Neg(x) },
                    else_branch = b () => (float[2] q) { q = Neg(x) }>
        y = Relu(t)
      })");
  ASSERT_OK_AND_ASSIGN(const ModelProto after, WriteChanged(before, [](Graph& graph) {
                         const ValueId added =
                             graph.AddOp("Exp", {MustFind(graph, "t")}, {}, "inner");
                         graph.outputs[0] = graph.AddOp("Relu", {added}, {}, "result");
                       }));
  EXPECT_EQ(NodeText(after), "t=If(c) inner_1=Exp(t) y=Relu(inner_1) ");
}

TEST(WriterTest, NewNodesHaveNamesThatNoOtherHas) {
  ModelProto before = ModelAtOpset(13, "g (float[2] x) => (float[2] y) { t = Relu(x) y = Abs(t) }");
  before.mutable_graph()->mutable_node(0)->set_name("first");
  before.mutable_graph()->mutable_node(1)->set_name("quotient_Exp");
  ASSERT_OK_AND_ASSIGN(const ModelProto after, WriteChanged(before, [](Graph& graph) {
                         const ValueId twice =
                             graph.AddOp("Exp", {graph.AddOp("Exp", {graph.outputs[0]})});
                         graph.outputs[0] = twice;
                         graph.nodes[2].name = "first";
                       }));
  std::vector<std::string> names;
  for (const auto& node : after.graph().node()) names.push_back(node.name());
  EXPECT_THAT(names, ElementsAre("first", "quotient_Exp", "first_1", "quotient_Exp_1"));
}

TEST(WriterTest, EqualNewParametersAreShared) {
  const ModelProto before = ModelAtOpset(13, "g (float[2,3] x) => (float[] y) { y = Relu(x) }");
  ASSERT_OK_AND_ASSIGN(
      const ModelProto after, WriteChanged(before, [](Graph& graph) {
        const ValueId flat = graph.AddOp("Reshape", {graph.inputs[0]}, {{"shape", model::Ints{6}}});
        const ValueId other = graph.AddOp("Abs", {graph.inputs[0]});
        const ValueId flat_other = graph.AddOp("Reshape", {other}, {{"shape", model::Ints{6}}});
        graph.outputs[0] = graph.AddOp("Add", {flat, flat_other});
      }));
  EXPECT_EQ(after.graph().initializer_size(), 1);
}

// --- Interface ---

TEST(WriterTest, OverridableInputsKeepTheirDefaultsUsedOrNot) {
  const ModelProto before = ModelAtOpset(13, R"(
      g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) })");
  ASSERT_OK_AND_ASSIGN(const ModelProto after, WriteChanged(before, [](Graph& graph) {
                         graph.outputs[0] = graph.AddOp("Relu", {graph.inputs[0]});
                       }));
  EXPECT_EQ(after.graph().input_size(), 2);
  EXPECT_THAT(InitializerNames(after), ElementsAre("w"));
}

// There, a new initializer would have to be a new input.
TEST(WriterTest, BeforeIrVersion4NewConstantsAreNodes) {
  ModelProto before = ModelAtOpset(8, R"(
      g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) })");
  before.set_ir_version(3);
  ASSERT_OK_AND_ASSIGN(const ModelProto after, WriteChanged(before, [](Graph& graph) {
                         const ValueId folded =
                             graph.AddConstant("folded", ::quotient::testing::Floats({2}, {5, 6}));
                         graph.outputs[0] = graph.AddOp("Mul", {graph.inputs[0], folded});
                       }));
  EXPECT_EQ(NodeText(after), "folded=Constant() y=Mul(x,folded) ");
  EXPECT_EQ(after.graph().input_size(), 2);
  EXPECT_THAT(InitializerNames(after), ElementsAre("w"));
  EXPECT_EQ(after.ir_version(), 3);
}

TEST(WriterTest, RefusesAGraphOfAnotherModel) {
  ASSERT_OK_AND_ASSIGN(
      const Model model,
      ReadProto(ModelAtOpset(13, "g (float[2] x) => (float[2] y) { y = Relu(x) }")));
  const Graph other =
      MustParse("graph g { input a: float32[2] input b: float32[2] y = Add(a, b) output y }");
  EXPECT_THAT(Write(model, other, {}), HasReason(Reason::kInternal));
}

}  // namespace
}  // namespace quotient::onnx
