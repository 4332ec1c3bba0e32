#include <string>

#include "absl/strings/str_cat.h"
#include "core/ops/infer_graph.h"
#include "tests/core/onnx/describe.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using ::onnx::ModelProto;
using ::quotient::testing::Describe;
using ::quotient::testing::IsOk;
using ::quotient::testing::ModelFromText;
using ::quotient::testing::OpsOf;
using ::quotient::testing::ReadProto;
using ::quotient::testing::RoundTrip;
using ::quotient::testing::RunOnRamp;

constexpr char kHead[] = R"(<ir_version: 8, opset_import: ["" : 13, "local" : 1]> )";
constexpr char kLocal[] = R"( <domain: "local", opset_import: ["" : 13, "local" : 1]> )";

// `main`, "g (...) => (...) {...}", and functions "f (...) => (...) {...}" of the domain "local".
ModelProto WithFunctions(absl::string_view main, const std::vector<std::string>& functions) {
  std::string text = absl::StrCat(kHead, main);
  for (const std::string& function : functions) absl::StrAppend(&text, kLocal, function);
  return ModelFromText(text);
}

model::Graph GraphOf(const ModelProto& model) {
  const absl::StatusOr<Model> read = ReadProto(model);
  EXPECT_THAT(read, IsOk());
  return read.ok() ? read->graph : model::Graph();
}

// What the model computes is what the other one does, which has no functions.
void ExpectSame(const ModelProto& model, const char* without_functions) {
  const ModelProto plain = ModelFromText(absl::StrCat(kHead, without_functions));
  const auto results = [](const ModelProto& proto) {
    model::Graph graph = GraphOf(proto);
    EXPECT_THAT(ops::InferTypes(graph), IsOk());
    return RunOnRamp(graph);
  };
  ASSERT_OK_AND_ASSIGN(const auto wanted, results(plain));
  ASSERT_OK_AND_ASSIGN(const auto got, results(model));
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(model::SameContent(got[i], wanted[i]));
  EXPECT_EQ(Describe(GraphOf(model)), Describe(GraphOf(plain)));
}

TEST(InlineFunctionsTest, EachCallBecomesTheBody) {
  const ModelProto model =
      WithFunctions("g (float[4] x) => (float[4] y) { t = local.f(x)  y = local.f(t) }",
                    {"f (a) => (b) { c = Relu(a)  b = Add(c, a) }"});
  ExpectSame(model, R"(g (float[4] x) => (float[4] y)
                       { c = Relu(x)  t = Add(c, x)  d = Relu(t)  y = Add(d, t) })");
  ASSERT_OK_AND_ASSIGN(const Model read, ReadProto(model));
  EXPECT_EQ(read.inlined_calls, 2);
  const ModelProto written = RoundTrip(model);
  EXPECT_EQ(OpsOf(written), "Relu,Add,Relu,Add");
  EXPECT_EQ(written.functions_size(), 0);
}

// Names of the body that are taken in the graph, by arguments among others.
TEST(InlineFunctionsTest, NamesOfTheBodyAreItsOwn) {
  ExpectSame(
      WithFunctions("g (float[4] x) => (float[4] y) { c = Neg(x)  t = local.f(c)  y = Add(t, c) }",
                    {"f (x) => (y) { c = Relu(x)  y = Mul(c, x) }"}),
      R"(g (float[4] x) => (float[4] y)
                { c = Neg(x)  d = Relu(c)  t = Mul(d, c)  y = Add(t, c) })");
}

TEST(InlineFunctionsTest, AttributesAreGivenOrDefaultsOrLeftOut) {
  const std::vector<std::string> functions = {
      "f <alpha: float = 0.7> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }",
      "h <alpha> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }"};
  ExpectSame(WithFunctions(R"(g (float[4] x) => (float[4] y)
                 { s = local.f(x)  t = local.f <alpha = 0.3> (s)  u = local.h <alpha = 0.2> (t)
                   y = local.h(u) })",
                           functions),
             R"(g (float[4] x) => (float[4] y)
                { s = LeakyRelu <alpha = 0.7> (x)  t = LeakyRelu <alpha = 0.3> (s)
                  u = LeakyRelu <alpha = 0.2> (t)  y = LeakyRelu(u) })");
}

// The attribute of the outer function is handed on to the inner one.
TEST(InlineFunctionsTest, FunctionsWithinFunctions) {
  ExpectSame(
      WithFunctions(
          "g (float[4] x) => (float[4] y) { y = local.f <slope = 0.4> (x) }",
          {"f <slope> (a) => (b) { c = local.h <alpha: float = @slope> (a)  b = local.h(c) }",
           "h <alpha: float = 0.1> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }"}),
      R"(g (float[4] x) => (float[4] y)
         { c = LeakyRelu <alpha = 0.4> (x)  y = LeakyRelu <alpha = 0.1> (c) })");
}

TEST(InlineFunctionsTest, InputsAndOutputsThatAreLeftOut) {
  ExpectSame(WithFunctions(R"(g (float[4] x) => (float[4] y, float[4] z)
                              { y = local.f(x)  "", z = local.f(x) })",
                           {"f (a, low) => (b, c) { b = Clip(a, low)  c = Neg(a) }"}),
             R"(g (float[4] x) => (float[4] y, float[4] z)
                { y = Clip(x)  n = Neg(x)  m = Clip(x)  z = Neg(x) })");
}

// A subgraph of the body captures an argument that is called as a value of the subgraph's own.
TEST(InlineFunctionsTest, SubgraphsOfTheBody) {
  const ModelProto model =
      WithFunctions("g (bool q, float[2] k) => (float[2] y) { y = local.f <alpha = 0.5> (q, k) }",
                    {R"(f <alpha> (c, a) => (b) {
            n = Neg(a)
            b = If (c) <then_branch = t () => (p) { k = Relu(n)  l = Add(k, a)
                                                    p = LeakyRelu <alpha: float = @alpha> (l) },
                        else_branch = e () => (r) { r = Add(n, a) }> })"});
  const ModelProto written = RoundTrip(model);
  ASSERT_EQ(OpsOf(written), "Neg,If");
  const auto& branch = written.graph().node(1).attribute(0).g();
  EXPECT_EQ(branch.node(0).input(0), written.graph().node(0).output(0));
  EXPECT_NE(branch.node(0).output(0), "k");
  EXPECT_EQ(branch.node(1).input(0), branch.node(0).output(0));
  EXPECT_EQ(branch.node(1).input(1), "k");
  EXPECT_EQ(branch.output(0).name(), branch.node(2).output(0));
  EXPECT_FLOAT_EQ(branch.node(2).attribute(0).f(), 0.5f);
}

TEST(InlineFunctionsTest, NodesKeepNamesThatAreTheirsAlone) {
  ModelProto model =
      WithFunctions("g (float[4] x) => (float[4] y) { t = local.f(x)  y = local.f(t) }",
                    {"f (a) => (b) { b = Relu(a) }"});
  model.mutable_functions(0)->mutable_node(0)->set_name("relu");
  const ModelProto written = RoundTrip(model);
  EXPECT_EQ(written.graph().node(0).name(), "relu");
  EXPECT_NE(written.graph().node(1).name(), "relu");
}

TEST(InlineFunctionsTest, OverloadsAreFunctionsOfTheirOwn) {
  ModelProto model =
      WithFunctions("g (float[4] x) => (float[4] y) { t = local.f(x)  y = local.f(t) }",
                    {"f (a) => (b) { b = Relu(a) }", "f (a) => (b) { b = Neg(a) }"});
  model.mutable_functions(0)->set_overload("one");
  model.mutable_functions(1)->set_overload("two");
  model.mutable_graph()->mutable_node(0)->set_overload("two");
  model.mutable_graph()->mutable_node(1)->set_overload("one");
  EXPECT_EQ(OpsOf(GraphOf(model)), "Neg,Relu");
}

// Each function calls the next one twice: 2^40 nodes if they were expanded.
TEST(InlineFunctionsTest, FunctionsThatDoubleStayCalls) {
  std::vector<std::string> functions;
  for (int i = 0; i < 40; ++i) {
    functions.push_back(absl::StrCat("f", i, " (a) => (b) { c = local.f", i + 1, "(a)  b = local.f",
                                     i + 1, "(c) }"));
  }
  functions.push_back("f40 (a) => (b) { b = Relu(a) }");
  ASSERT_OK_AND_ASSIGN(
      const Model whole,
      ReadProto(WithFunctions(
          "g (float[2] x) => (float[2] y) { t = local.f0(x)  y = local.f35(t) }", functions)));
  EXPECT_EQ(whole.graph.nodes.size(), 1u + 32u);
  EXPECT_EQ(whole.op_counts.at("local.f0"), 1);
  EXPECT_EQ(whole.op_counts.at("Relu"), 32);
}

// Few nodes, but a large constant in each copy.
TEST(InlineFunctionsTest, BytesAreBoundedToo) {
  std::string main = "g (float[2] x) => (float[2] v8) { v0 = Relu(x) ";
  for (int i = 0; i < 8; ++i) absl::StrAppend(&main, " v", i + 1, " = local.f(v", i, ")");
  ModelProto model = WithFunctions(main + " }", {"f (a) => (b) { c = Constant()  b = Add(a, c) }"});
  auto* attribute = model.mutable_functions(0)->mutable_node(0)->add_attribute();
  attribute->set_name("value");
  attribute->set_type(::onnx::AttributeProto::TENSOR);
  attribute->mutable_t()->set_data_type(::onnx::TensorProto::FLOAT);
  attribute->mutable_t()->add_dims(10'000);
  attribute->mutable_t()->set_raw_data(std::string(40'000, '\0'));
  Limits limits;
  limits.max_structure_bytes = 200'000;
  const std::string bytes = model.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const Model read, Read(bytes, {}, limits, nullptr));
  EXPECT_EQ(read.op_counts.at("local.f"), 4);
  EXPECT_EQ(read.op_counts.at("Add"), 4);
}

void SetTensor(::onnx::AttributeProto* attribute, size_t bytes) {
  attribute->set_type(::onnx::AttributeProto::TENSOR);
  attribute->mutable_t()->set_data_type(::onnx::TensorProto::UINT8);
  attribute->mutable_t()->add_dims(static_cast<int64_t>(bytes));
  attribute->mutable_t()->set_raw_data(std::string(bytes, '\0'));
}

// How many calls of local.f are left where copies may take a megabyte.
int64_t CallsLeft(const ModelProto& model) {
  Limits limits;
  limits.max_structure_bytes = 1'000'000;
  const std::string bytes = model.SerializeAsString();
  const absl::StatusOr<Model> read = Read(bytes, {}, limits, nullptr);
  EXPECT_THAT(read, IsOk());
  const auto calls = read->op_counts.find("local.f");
  return calls == read->op_counts.end() ? 0 : calls->second;
}

// A body is short, and what its call, a default or a call within puts into it is not.
TEST(InlineFunctionsTest, WhatCallsPutIntoTheBodyIsBounded) {
  for (const int references : {2, 200}) {
    SCOPED_TRACE(references);
    const int64_t left = references > 100 ? 1 : 0;
    std::string body;
    for (int i = 0; i < references; ++i) {
      absl::StrAppend(&body, " c", i, " = Constant <value: tensor = @v> ()");
    }
    const std::string main = "g (float[2] x) => (float[2] y) { y = local.f(x) }";
    const std::string f = absl::StrCat("f <v> (a) => (b) { b = Relu(a)", body, " }");

    ModelProto by_call = WithFunctions(main, {f});
    by_call.mutable_graph()->mutable_node(0)->add_attribute()->set_name("v");
    SetTensor(by_call.mutable_graph()->mutable_node(0)->mutable_attribute(0), 10'000);
    EXPECT_EQ(CallsLeft(by_call), left);

    ModelProto by_default = WithFunctions(main, {f});
    by_default.mutable_functions(0)->clear_attribute();
    by_default.mutable_functions(0)->add_attribute_proto()->set_name("v");
    SetTensor(by_default.mutable_functions(0)->mutable_attribute_proto(0), 10'000);
    EXPECT_EQ(CallsLeft(by_default), left);

    ModelProto within =
        WithFunctions(main, {"f (a) => (b) { b = local.h(a) }",
                             absl::StrCat("h <v> (a) => (b) { b = Relu(a)", body, " }")});
    within.mutable_functions(0)->mutable_node(0)->add_attribute()->set_name("v");
    SetTensor(within.mutable_functions(0)->mutable_node(0)->mutable_attribute(0), 10'000);
    EXPECT_EQ(CallsLeft(within), left);
  }
}

TEST(InlineFunctionsTest, LongNamesAtTheCallAreBounded) {
  for (const int uses : {2, 300}) {
    SCOPED_TRACE(uses);
    std::string body = "f (a) => (b) { b = Relu(a)";
    for (int i = 0; i < uses; ++i) absl::StrAppend(&body, " c", i, " = Relu(a)");
    ModelProto model =
        WithFunctions("g (float[2] x) => (float[2] y) { y = local.f(x) }", {body + " }"});
    const std::string name(4000, 'n');
    model.mutable_graph()->mutable_input(0)->set_name(name);
    model.mutable_graph()->mutable_node(0)->set_input(0, name);
    EXPECT_EQ(CallsLeft(model), uses > 100 ? 1 : 0);
  }
}

// What the file says of a value that is not there is not said of one that the body makes.
TEST(InlineFunctionsTest, NamesThatAreOnlyDescribedAreTaken) {
  ModelProto model = WithFunctions("g (float[4] x) => (float[4] y) { y = local.f(x) }",
                                   {"f (a) => (b) { c = Relu(a)  b = Neg(c) }"});
  auto* info = model.mutable_graph()->add_value_info();
  info->set_name("c");
  info->mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::BOOL);
  const ModelProto written = RoundTrip(model);
  ASSERT_EQ(OpsOf(written), "Relu,Neg");
  EXPECT_NE(written.graph().node(0).output(0), "c");
}

TEST(InlineFunctionsTest, CallsStayWhereTheBodyWouldMeanSomethingElse) {
  const ModelProto older = ModelFromText(absl::StrCat(
      kHead, "g (float[2,3] x) => (float[2,3] y) { t = local.f(x)  y = local.h(t) }",
      R"(<domain: "local", opset_import: ["" : 12]> f (a) => (b) { b = Softmax(a) })",
      R"(<domain: "local", opset_import: ["" : 11]> h (a) => (b) { b = LeakyRelu(a) })"));
  EXPECT_EQ(OpsOf(GraphOf(older)), "Opaque:local.f,LeakyRelu");
}

TEST(InlineFunctionsTest, CallsStayWhereNothingWouldBeUnderstood) {
  const ModelProto custom = WithFunctions("g (float[2] x) => (float[2] y) { y = local.f(x) }",
                                          {"f (a) => (b) { b = local.Mystery(a) }"});
  EXPECT_EQ(RoundTrip(custom).functions_size(), 1);
}

// Runtimes have kernels for these, which are not quite what the function says.
TEST(InlineFunctionsTest, CallsStayWhereRuntimesHaveTheOperator) {
  const ModelProto gelu = ModelFromText(R"(
      <ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]>
      g (float[2] x) => (float[2] y) { y = com.microsoft.Gelu(x) }
      <domain: "com.microsoft", opset_import: ["" : 13]> Gelu (a) => (b) { b = Neg(a) })");
  EXPECT_EQ(OpsOf(GraphOf(gelu)), "Opaque:com.microsoft.Gelu");
}

TEST(InlineFunctionsTest, FunctionsThatSubgraphsCallStay) {
  const ModelProto model =
      WithFunctions(R"(
      g (bool c, float[2] x) => (float[2] y) {
        t = local.f(x)
        y = If (c) <then_branch = a () => (float[2] p) { p = local.h(t) },
                    else_branch = b () => (float[2] q) { q = Relu(t) }>
      })",
                    {"f (a) => (b) { b = Relu(a) }", "h (a) => (b) { b = local.k(a) }",
                     "k (a) => (b) { b = Neg(a) }"});
  const ModelProto written = RoundTrip(model);
  EXPECT_EQ(OpsOf(written), "Relu,If");
  ASSERT_EQ(written.functions_size(), 2);
  EXPECT_EQ(written.functions(0).name(), "h");
  EXPECT_EQ(written.functions(1).name(), "k");
}

TEST(InlineFunctionsTest, DomainsOfTheBodyAreImported) {
  const ModelProto model = ModelFromText(
      absl::StrCat(kHead, "g (float[2] x) => (float[2] y) { y = local.f(x) }",
                   R"(<domain: "local", opset_import: ["" : 13, "acme" : 3]> f (a) => (b)
         { c = acme.Foo(a)  b = Relu(c) })"));
  const ModelProto written = RoundTrip(model);
  EXPECT_EQ(OpsOf(written), "Foo,Relu");
  ASSERT_EQ(written.opset_import_size(), 3);
  EXPECT_EQ(written.opset_import(2).domain(), "acme");
  EXPECT_EQ(written.opset_import(2).version(), 3);
}

}  // namespace
}  // namespace quotient::onnx
