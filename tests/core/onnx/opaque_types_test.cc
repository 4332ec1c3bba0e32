// Types as a model's file declares them, and as ONNX's inference finds them behind operators that
// have no row.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/ops/infer_graph.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::testing {
namespace {

// The types that inference finds for the values of these names.
std::vector<std::string> TypesOf(const ::onnx::ModelProto& proto,
                                 const std::vector<std::string>& names) {
  absl::StatusOr<onnx::Model> model = ReadProto(proto);
  EXPECT_THAT(model, IsOk());
  EXPECT_THAT(ops::InferTypes(model->graph), IsOk());
  std::vector<std::string> types;
  for (const std::string& name : names) {
    types.push_back(model::ToString(model->graph.value(MustFind(model->graph, name)).type));
  }
  return types;
}

// The type of y, which one node makes from x: float[N,4,H,6] and what the text adds.
std::string Behind(absl::string_view node, absl::string_view constants = "", int opset = 17) {
  return TypesOf(ModelAtOpset(opset, absl::StrCat("g (float[N,4,H,6] x, int64 seed) => (float y) <",
                                                  constants, "> { ", node, " }")),
                 {"y"})[0];
}

TEST(OpaqueTypesTest, FollowFromTheOperands) {
  EXPECT_EQ(Behind("y = DepthToSpace <blocksize = 2> (x)"), "float32[N,1,?y.2,12]");
  EXPECT_EQ(Behind("y = LRN <size = 3> (x)"), "float32[N,4,H,6]");
  EXPECT_EQ(Behind("y = Einsum <equation = \"nchw->nwch\"> (x)"), "float32[N,6,4,H]");
  EXPECT_EQ(Behind("y, i = TopK <axis = 1> (x, k)", "int64[1] k = {2}"), "float32[N,2,H,6]");
  EXPECT_EQ(Behind("y = GlobalLpPool (x)"), "float32[N,4,1,1]");
  EXPECT_EQ(Behind("y = Hardmax (x)"), "float32[N,4,H,6]");
  EXPECT_EQ(Behind("y = Resize <mode = \"linear\", antialias = 1> (x, , s)",
                   "float[4] s = {1, 1, 2, 2}", 18),
            "float32[?y.0,4,?y.2,12]");
}

TEST(OpaqueTypesTest, QuantizationAndRecurrenceAreKnown) {
  EXPECT_THAT(TypesOf(ModelAtOpset(17, R"(
      g (float[steps,N,5] x) => (float[a,b,c,d] y, float[e,f,g] h)
      <float scale = {0.5}, uint8 zero = {7}> {
        q = QuantizeLinear(x, scale, zero)
        d = DequantizeLinear(q, scale, zero)
        y, h = LSTM <hidden_size = 3, direction = "bidirectional"> (d, x, x)
      })"),
                      {"q", "d", "y", "h"}),
              ::testing::ElementsAre("uint8[steps,N,5]", "float32[steps,N,5]",
                                     "float32[steps,2,N,3]", "float32[2,N,3]"));
}

TEST(OpaqueTypesTest, SizesThatDependOnDataEqualNothing) {
  EXPECT_THAT(TypesOf(ModelAtOpset(17, R"(g (float[N,4] x) => (int64[4,M] a, int64[4,M] b) {
                a = NonZero(x)
                b = NonZero(x)
                sum = Add(a, b)
              })"),
                      {"a", "b", "sum"}),
              ::testing::ElementsAre("int64[2,?a.1]", "int64[2,?b.1]", "int64[2,?sum.1]"));
}

TEST(OpaqueTypesTest, WhatOnnxRuntimeDoesOtherwiseIsNotAsked) {
  // 6 times 0.7 as a float is 4.2 here and there; 10 times 0.7 is 6 here and 7 there.
  EXPECT_EQ(Behind("y = Resize <mode = \"linear\", antialias = 1> (x, , s)",
                   "float[4] s = {1, 1, 1, 0.7}", 18),
            "float32[*]");
  EXPECT_EQ(Behind("y = Resize <mode = \"linear\", antialias = 1, coordinate_transformation_mode = "
                   "\"tf_crop_and_resize\"> (x, r, s)",
                   "float[8] r = {0, 0, 0, 0, 1, 1, 1, 1}, float[4] s = {1, 1, 2, 2}", 18),
            "float32[*]");
  EXPECT_EQ(Behind("y = LpPool <kernel_shape = [2, 2], ceil_mode = 1> (x)", "", 18), "float32[*]");
}

// ONNX casts what a scale makes of an extent to int64, whatever it is.
TEST(OpaqueTypesTest, ScalesOfNoExtentAreNotAsked) {
  for (const char* scale : {"1e30", "-1e30", "inf", "nan"}) {
    SCOPED_TRACE(scale);
    ::onnx::ModelProto proto =
        ModelAtOpset(18, R"(g (float[N,4,H,6] x) => (float y) <float[4] s = {1, 1, 2, 2}>
               { y = Resize <mode = "linear", antialias = 1> (x, , s) })");
    proto.mutable_graph()->mutable_initializer(0)->set_float_data(3, std::stof(scale));
    EXPECT_EQ(TypesOf(proto, {"y"})[0], "float32[*]");
  }
}

// The library divides, allocates and loops by what stands in a node.
TEST(OpaqueTypesTest, HostileNodesSayNothing) {
  for (const char* node : {
           "y = DepthToSpace <blocksize = 0> (x)",
           "y = DepthToSpace <blocksize = 9223372036854775807> (x)",
           "y = Einsum <equation = \"n@chw->n\"> (x)",
           "y = Einsum (x)",
           "y = LRN (x)",
           "y = LpPool <kernel_shape = [2, 2], strides = [0, 0]> (x)",
           "y = LpPool <kernel_shape = [2], pads = [1]> (x)",
           "y = RandomNormal <shape = [9223372036854775807, 9223372036854775807]> ()",
           "y = RandomNormal <shape = [-3, 2]> ()",
           "y = TopK <axis = 77> (x, seed)",
           "y, i, j, k, l = TopK (x, seed)",
           "y = QLinearConv (x)",
           "y = GridSample (x, seed)",
           "y = LSTM (seed, seed, seed)",
       }) {
    SCOPED_TRACE(node);
    const std::string type = Behind(node);
    EXPECT_THAT(type, ::testing::AnyOf("float32[*]", "float32[?y.0,2]", "float32[?y.0,?y.1]"));
  }
}

TEST(OpaqueTypesTest, AFunctionOfTheModelIsNoOperatorOfOnnx) {
  EXPECT_EQ(TypesOf(ModelFromText(R"(
      <ir_version: 8, opset_import: ["" : 17, "acme" : 1]>
      g (float[N,4] x) => (float y) { y = acme.LRN(x) }
      <domain: "acme", opset_import: ["" : 17]> LRN (a) => (b) { b = Transpose(a) })"),
                    {"y"})[0],
            "float32[4,N]");
}

TEST(DeclaredTypesTest, NamesThatSayNothingAreUnknown) {
  for (const char* name : {"?", "-1", "12", " ", "None", "unknown", "nan", "a,b", "?x"}) {
    SCOPED_TRACE(name);
    ::onnx::ModelProto proto =
        ModelAtOpset(17, "g (float[A,B] x) => (float[A,B] y) { y = Relu(x) }");
    for (auto& dim : *proto.mutable_graph()
                          ->mutable_input(0)
                          ->mutable_type()
                          ->mutable_tensor_type()
                          ->mutable_shape()
                          ->mutable_dim()) {
      dim.set_dim_param(name);
    }
    EXPECT_EQ(TypesOf(proto, {"y"})[0], "float32[?x.0,?x.1]");
  }
  for (const char* name : {"N", "batch_size", "unk__123", "s0 + 1", "min(s0)"}) {
    SCOPED_TRACE(name);
    ::onnx::ModelProto proto = ModelAtOpset(17, "g (float[A] x) => (float[A] y) { y = Relu(x) }");
    proto.mutable_graph()
        ->mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_param(name);
    EXPECT_EQ(TypesOf(proto, {"y"})[0], absl::StrCat("float32[", name, "]"));
  }
}

// Softmax of opset 11 is that of a matrix; which axes it joins depends on the rank.
TEST(DeclaredTypesTest, ADeclaredRankDecidesNothing) {
  const ::onnx::ModelProto proto =
      ModelAtOpset(11, R"(g (float[2,3] x) => (float[2,3] y) <float[2] a> {
        a = com.acme.Foo(x)
        y = Softmax <axis = 0> (a)
      })");
  ::onnx::ModelProto with_domain = proto;
  auto* import = with_domain.add_opset_import();
  import->set_domain("com.acme");
  import->set_version(1);
  absl::StatusOr<onnx::Model> model = ReadProto(with_domain);
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(OpsOf(model->graph), ::testing::HasSubstr("Flatten"));
}

// Value infos go with values as they are; those that inference contradicts do not.
TEST(DeclaredTypesTest, StaleTypesAreNotWritten) {
  ::onnx::ModelProto proto = ModelAtOpset(17, R"(
      g (float[N,S] x) => (float[1,7] y) <float[1,S] a, float[N,S] b, float[N,S,1] c, float[1,5] d> {
        a = Relu(x)
        b = Relu(a)
        c = Relu(b)
        d = acme.Foo(c)
        y = Relu(d)
      })");
  auto* import = proto.add_opset_import();
  import->set_domain("acme");
  import->set_version(1);
  const ::onnx::ModelProto after = RoundTrip(proto);
  std::vector<std::string> names;
  for (const auto& info : after.graph().value_info()) names.push_back(info.name());
  EXPECT_THAT(names, ::testing::ElementsAre("b", "d"));
  EXPECT_EQ(after.graph().output(0).SerializeAsString(),
            proto.graph().output(0).SerializeAsString());
}

}  // namespace
}  // namespace quotient::testing
