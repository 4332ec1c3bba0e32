#include "core/optimize/simplify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/reason.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using quotient::testing::HasReason;
using quotient::testing::OpsOf;
using quotient::testing::ParseBytes;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class SimplifyTest : public ::testing::Test {
 protected:
  static std::string Bytes(const std::string& graph, int opset = 17) {
    const std::string head =
        absl::StrCat("<ir_version: 8, opset_import: [\"\" : ", opset, ", \"acme\" : 1]> ");
    return testing::ModelFromText(absl::StrCat(head, graph)).SerializeAsString();
  }
  absl::StatusOr<Simplified> SimplifyBytes(const std::string& bytes) {
    return Simplify({"m.onnx", bytes, {}}, options_, "m.onnx.data", Clock::System(), stop_);
  }
  // The simplified model, which must be one.
  ::onnx::ModelProto Simple(const std::string& graph, int opset = 17) {
    absl::StatusOr<Simplified> simplified = SimplifyBytes(Bytes(graph, opset));
    EXPECT_OK(simplified);
    if (!simplified.ok()) return {};
    EXPECT_NE(simplified->report.verification.passed, simplified->report.is_same_graph);
    EXPECT_EQ(simplified->report.after.bytes, std::ssize(simplified->files.model));
    report_ = simplified->report;
    return ParseBytes(simplified->files.model);
  }

  Options options_;
  CancelToken token_;
  StopCondition stop_{&token_};
  report::Simplification report_;
};

std::vector<std::string> DescribedValues(const ::onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto& info : model.graph().value_info()) names.push_back(info.name());
  return names;
}

constexpr char kConvNet[] = R"(
    g (float[N,2,8,8] x) => (float[N,2,6,6] y)
    <float[2,2,3,3] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9},
     float[2] s = {1, 2}, float[2] b = {3, 4}, float[2] m = {5, 6}, float[2] v = {7, 8}> {
      a = Conv(x, w)
      n = BatchNormalization(a, s, b, m, v)
      i = Identity(n)
      r = Relu(i)
      y = Dropout(r)
    })";

TEST_F(SimplifyTest, NormalizationsBecomeWeightsAndWhatDoesNothingGoes) {
  EXPECT_EQ(OpsOf(Simple(kConvNet)), "Conv,Relu");
  EXPECT_EQ(report_.before.nodes(), 5);
  EXPECT_EQ(report_.after.nodes(), 2);
  EXPECT_EQ(report_.rules["conv-batchnorm"], 1);
}

TEST_F(SimplifyTest, OpenDimensionsStayAndTypesOfInnerValuesAreWritten) {
  const ::onnx::ModelProto model = Simple(kConvNet);
  EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  ASSERT_EQ(model.graph().value_info_size(), 1);
  const auto& shape = model.graph().value_info(0).type().tensor_type().shape();
  ASSERT_EQ(shape.dim_size(), 4);
  EXPECT_EQ(shape.dim(0).dim_param(), "N");
  EXPECT_EQ(shape.dim(2).dim_value(), 6);
}

TEST_F(SimplifyTest, EqualModelsGiveEqualBytesOnAnyNumberOfThreads) {
  options_.threads = 1;
  ASSERT_OK_AND_ASSIGN(const Simplified one, SimplifyBytes(Bytes(kConvNet)));
  options_.threads = 4;
  options_.seed = 7;
  ASSERT_OK_AND_ASSIGN(const Simplified other, SimplifyBytes(Bytes(kConvNet)));
  EXPECT_EQ(one.files.model, other.files.model);
}

TEST_F(SimplifyTest, ASimplifiedModelStaysAsItIs) {
  ASSERT_OK_AND_ASSIGN(const Simplified once, SimplifyBytes(Bytes(kConvNet)));
  ASSERT_OK_AND_ASSIGN(const Simplified twice, SimplifyBytes(once.files.model));
  EXPECT_EQ(once.files.model, twice.files.model);
  EXPECT_TRUE(once.report.is_simplified);
  EXPECT_FALSE(twice.report.is_simplified);
  EXPECT_TRUE(twice.report.is_same_graph);
}

// A Gelu is an operator since opset 20.
TEST_F(SimplifyTest, TheOpsetRisesOnlyWhereThatIsAskedFor) {
  constexpr char kGelu[] = R"(
      g (float[N,8] x) => (float[N,8] y)
      <float root = {1.4142135}, float one = {1}, float half = {0.5}> {
        a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half)
      })";
  const ::onnx::ModelProto kept = Simple(kGelu, 17);
  EXPECT_EQ(kept.opset_import(0).version(), 17);
  EXPECT_THAT(OpsOf(kept), Not(HasSubstr("Gelu")));
  EXPECT_EQ(OpsOf(Simple(kGelu, 20)), "Gelu");
  options_.max_opset = 20;
  EXPECT_EQ(OpsOf(Simple(kGelu, 17)), "Gelu");
}

// Which of these pays depends on the device.
TEST_F(SimplifyTest, NothingIsMergedThatMayLose) {
  EXPECT_EQ(OpsOf(Simple(R"(
      g (float[N,4] x) => (float[N,2] y, float[N,2] z)
      <float[4,2] a = {1,2,3,4,5,6,7,8}, float[4,2] b = {8,7,6,5,4,3,2,1}> {
        y = MatMul(x, a) z = MatMul(x, b)
      })")),
            "MatMul,MatMul");
}

// Of two forms with equally many operators, that of the model stays: runtimes fuse its spelling.
TEST_F(SimplifyTest, NothingIsSpelledAnewInVain) {
  EXPECT_EQ(OpsOf(Simple(R"(
      g (float[N,64] x) => (float[N,64] y)
      <float k = {0.7978845}, float a = {0.044715}, float three = {3}, float one = {1}, float half = {0.5}> {
        p = Pow(x, three) q = Mul(p, a) r = Add(x, q) s = Mul(r, k) t = Tanh(s) u = Add(t, one)
        v = Mul(x, half) i = Identity(v) y = Mul(i, u)
      })")),
            "Mul,Pow,Mul,Add,Mul,Tanh,Add,Mul");
  EXPECT_THAT(report_.rules, ::testing::IsEmpty());
}

// One Conv of 3x3 is one operator less than a 1x3, a 3x1 and a sum, but half as much work again.
TEST_F(SimplifyTest, FewerOperatorsAreNotTakenForMoreWork) {
  const std::string ones = absl::StrJoin(std::vector<int>(16 * 16 * 3, 1), ",");
  const std::string branches =
      absl::StrCat("g (float[1,16,32,32] x) => (float[1,16,32,32] y) <float[16,16,1,3] a = {", ones,
                   "}, float[16,16,3,1] b = {", ones, R"(}> {
        p = Conv<pads = [0,1,0,1]>(x, a) q = Conv<pads = [1,0,1,0]>(x, b) s = Add(p, q)
        n = Neg(s) i = Neg(n) y = Relu(i)
      })");
  EXPECT_EQ(OpsOf(Simple(branches)), "Conv,Conv,Add,Relu");
  EXPECT_EQ(report_.rules["neg-neg"], 1) << "what is not dearer is taken all the same";
}

// Slices that a Split could compute are operators like others.
TEST_F(SimplifyTest, ASplitStaysOne) {
  const ::onnx::ModelProto model = Simple(R"(
      g (float[N,6] x) => (float[N,2] y, float[N,4] z) <int64[2] parts = {2, 4}> {
        a, b = Split<axis = 1>(x, parts) i = Identity(a) y = Relu(i) z = Tanh(b)
      })");
  EXPECT_EQ(OpsOf(model), "Split,Relu,Tanh");
  EXPECT_EQ(OpsOf(Simple(R"(
      g (float[N,6] x) => (float[N,2] y)
      <int64[1] zero = {0}, int64[1] one = {1}, int64[1] three = {3}, int64[1] four = {4}> {
        a = Slice(x, zero, four, one) y = Slice(a, one, three, one)
      })")),
            "Slice");
}

// Each pair of constants can be combined with each: no search looks at all of that.
TEST_F(SimplifyTest, LongChainsOfConstantsBecomeShort) {
  std::string nodes = "v0 = Identity(x) ";
  std::string constants;
  for (int i = 0; i < 12; ++i) {
    absl::StrAppend(&nodes, "a", i, " = Add(v", i, ", c", i, ") v", i + 1, " = Mul(a", i, ", d", i,
                    ") ");
    absl::StrAppend(&constants, i == 0 ? "" : ", ", "float[2] c", i, " = {1, ", i, "}, float[2] d",
                    i, " = {2, 1}");
  }
  const ::onnx::ModelProto model = Simple(absl::StrCat(
      "g (float[N,2] x) => (float[N,2] y) <", constants, "> { ", nodes, "y = Relu(v12) }"));
  EXPECT_LT(model.graph().node_size(), 8);
}

TEST_F(SimplifyTest, ConstantNodesBecomeInitializers) {
  const ::onnx::ModelProto model = Simple(R"(
      g (float[N,2] x) => (float[N,2] y) {
        c = Constant<value = float[2] {1, 2}>() y = Mul(x, c)
      })");
  EXPECT_EQ(OpsOf(model), "Mul");
  ASSERT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(model.graph().initializer(0).name(), "c");
}

// --- What users keep ---

TEST_F(SimplifyTest, AValueThatIsKeptIsComputedUnderItsName) {
  options_.kept_values = {"a", "r"};
  const ::onnx::ModelProto model = Simple(kConvNet);
  EXPECT_EQ(model.graph().output_size(), 1);
  std::vector<std::string> computed;
  for (const auto& node : model.graph().node()) {
    computed.insert(computed.end(), node.output().begin(), node.output().end());
  }
  EXPECT_THAT(computed, Contains("a"));
  EXPECT_THAT(computed, Contains("r"));
}

TEST_F(SimplifyTest, AConstantThatIsKeptHasItsNameThoughItIsComputedBefore) {
  options_.kept_values = {"c"};
  const ::onnx::ModelProto model = Simple(R"(
      g (float[N,2] x) => (float[N,2] y) <float[2] a = {1, 2}> {
        c = Add(a, a) y = Mul(x, c)
      })");
  EXPECT_EQ(OpsOf(model), "Identity,Mul");
  EXPECT_EQ(model.graph().node(0).output(0), "c");
}

TEST_F(SimplifyTest, AValueThatTheModelDoesNotHaveCannotBeKept) {
  options_.kept_values = {"nowhere"};
  EXPECT_THAT(SimplifyBytes(Bytes(kConvNet)),
              HasReason(Reason::kOptionInvalid, HasSubstr("no value 'nowhere'")));
}

TEST_F(SimplifyTest, ConstantsAreComputedUpToTheSizeThatIsAllowed) {
  constexpr char kTable[] = R"(
      g (float[64,64] x) => (float[64,64] y) <int64[2] s = {64, 64}> {
        t = ConstantOfShape<value = float {2}>(s) e = Exp(t) y = Mul(x, e)
      })";
  EXPECT_EQ(OpsOf(Simple(kTable)), "Mul");
  options_.max_folded_bytes = 4096;
  EXPECT_THAT(OpsOf(Simple(kTable)), HasSubstr("ConstantOfShape"));
  EXPECT_LT(report_.after.bytes, 4096);
}

TEST_F(SimplifyTest, ARuleMayBeLeftOut) {
  options_.disabled_rules = {"conv-batchnorm", "batchnorm-affine"};
  EXPECT_EQ(OpsOf(Simple(kConvNet)), "Conv,BatchNormalization,Relu");
}

TEST_F(SimplifyTest, UnknownOperatorsStay) {
  EXPECT_EQ(OpsOf(Simple(R"(
      g (float[N,2] x) => (float[N,2] y) <float[N,2] b> {
        a = Identity(x) b = acme.Foo(a) c = Neg(b) d = Neg(c) y = Exp(d)
      })")),
            "Foo,Exp");
}

// --- What cannot be simplified ---

TEST_F(SimplifyTest, WhatIsHarmlessButNotUnderstoodComesBack) {
  const std::string future =
      Bytes("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }", /*opset=*/9999);
  ASSERT_OK_AND_ASSIGN(const Simplified same, SimplifyBytes(future));
  EXPECT_FALSE(same.report.is_simplified);
  EXPECT_FALSE(same.report.is_same_graph);
  EXPECT_EQ(same.files.model, future);
  EXPECT_THAT(same.report.notes, Contains(HasSubstr("OPSET_UNKNOWN")));
  EXPECT_EQ(same.report.verification.inputs, 0);
}

TEST_F(SimplifyTest, WhatIsMalformedIsRefused) {
  EXPECT_THAT(SimplifyBytes("junk"), HasReason(Reason::kModelMalformed));
}

TEST_F(SimplifyTest, WhatWasNotEvaluatedIsTold) {
  Simple("g (float[N,2] x) => (float[N,2] y) { a = acme.Foo(x) b = Identity(a) y = acme.Foo(b) }");
  EXPECT_THAT(report_.notes, Contains(HasSubstr("not understood")));
}

TEST_F(SimplifyTest, CancellingEndsIt) {
  token_.Cancel();
  EXPECT_THAT(SimplifyBytes(Bytes(kConvNet)), HasReason(Reason::kCancelled));
}

// The model uses the size of one input for another. Where these differ, constants that were
// computed from names would be wrong.
TEST_F(SimplifyTest, NamesOfDimensionsAreForgottenWhereTheModelBreaksThem) {
  constexpr char kBroken[] = R"(
      g (float[A,B] x, float[A,B] z) => (float[K,L] y, float[A,B] w) {
        s = Shape(x) y = Reshape(z, s) i = Identity(x) w = Neg(i)
      })";
  EXPECT_EQ(OpsOf(Simple(kBroken)), "Shape,Reshape,Neg");
  EXPECT_THAT(report_.notes, Contains(HasSubstr("nothing was concluded from names")));
  EXPECT_THAT(report_.notes, Not(Contains(HasSubstr("refused"))));
}

}  // namespace
}  // namespace quotient::optimize
