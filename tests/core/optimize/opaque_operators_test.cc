// Models with operators that Quotient does not understand, or only as far as ONNX says what their
// types are: what stands around them is optimized all the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/core/optimize/optimize_fixture.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using ::onnx::ModelProto;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ModelAtOpset;
using ::testing::Not;

class OpaqueOperatorsTest : public OptimizeTest {
 protected:
  absl::StatusOr<Result> RunModel(const ModelProto& model) {
    return Run(model.SerializeAsString());
  }
};

// A LayerNormalization in single steps beside an If.
ModelProto NormalizationBeside(int opset, absl::string_view in_branch) {
  return ModelAtOpset(opset, absl::StrCat(R"(
      g (float[N,S,4] x, bool c) => (float[N,S,4] z)
        <float two = {2}, float tiny = {0.00001}, float[4] g = {1, 2, 3, 4}, float[4] b = {1, 0, 1, 0}> {
          m = ReduceMean <axes = [-1]> (x)
          d = Sub(x, m)
          p = Pow(d, two)
          v = ReduceMean <axes = [-1]> (p)
          e = Add(v, tiny)
          s = Sqrt(e)
          q = Div(d, s)
          w = Mul(q, g)
          y = Add(w, b)
          z = If (c) <then_branch = then () => (float[N,S,4] t) { t = )",
                                          in_branch,
                                          R"( },
                      else_branch = otherwise () => (float[N,S,4] f) { f = Add(y, y) }>
        })"));
}

TEST_F(OpaqueOperatorsTest, WhatKeepsNewerOperatorsOutIsTold) {
  const absl::StatusOr<Result> kept = RunModel(NormalizationBeside(11, "Softmax(y)"));
  ASSERT_THAT(kept, IsOk());
  EXPECT_EQ(kept->report.outcome, report::Outcome::kNoImprovement);
  EXPECT_THAT(
      kept->report.notes,
      Contains(HasSubstr("operators newer than opset 12 were not used: Softmax, which opset "
                         "13 defines anew, stands in what is left as it is")));
  for (const int opset : {11, 13}) {
    const absl::StatusOr<Result> raised = RunModel(NormalizationBeside(opset, "Relu(y)"));
    ASSERT_THAT(raised, IsOk());
    EXPECT_EQ(raised->report.outcome, report::Outcome::kImproved) << opset;
    EXPECT_THAT(raised->report.notes, Contains(HasSubstr("were not used")).Times(0)) << opset;
  }
}

// Behind an operator that we have no row for, in front of a Conv with a normalization.
ModelProto ConvBehind(absl::string_view node, absl::string_view constants) {
  return ModelAtOpset(17, absl::StrCat(R"(g (float[N,4,8,8] x) => (float[A,B,C,D] y) <
      float[2,4,1,1] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] s = {1, 2}, float[2] b = {3, 4},
      float[2] m = {0.5, 0.25}, float[2] v = {1, 2})",
                                       constants, "> {", node, R"(
        c = Conv(h, w)
        n = BatchNormalization(c, s, b, m, v)
        t = Transpose <perm = [0,2,3,1]> (n)
        y = Transpose <perm = [0,3,1,2]> (t) })"));
}

TEST_F(OpaqueOperatorsTest, NormalizationsFoldBehindOperatorsThatOnlyOnnxKnows) {
  const std::pair<const char*, const char*> cases[] = {
      {"h = LRN <size = 3> (x)", ""},
      {"d = DepthToSpace <blocksize = 2> (x)  h = SpaceToDepth <blocksize = 2> (d)", ""},
      {"h = Einsum <equation = \"nchw->ncwh\"> (x)", ""},
      {"h, i = TopK <axis = 2> (x, k)", ", int64[1] k = {4}"},
      {"q, qs, qz = DynamicQuantizeLinear(x)  h = DequantizeLinear(q, qs, qz)", ""},
      {"h = Shrink(x)", ""},
      {"h = GridSample(x, grid)", ", float[1,2,2,2] grid = {0, 0, 0, 0, 0, 0, 0, 0}"},
  };
  for (const auto& [node, constants] : cases) {
    SCOPED_TRACE(node);
    const absl::StatusOr<Result> result = RunModel(ConvBehind(node, constants));
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
    EXPECT_THAT(testing::OpsOf(testing::ParseBytes(result->files.model)),
                Not(HasSubstr("BatchNormalization")));
  }
}

// Nothing is cut out, and the two stay, because the first rounds.
TEST_F(OpaqueOperatorsTest, QuantizedModelsWithASymbolicBatchAreUnderstood) {
  const absl::StatusOr<Result> result =
      RunModel(ConvBehind("q = QuantizeLinear(x, qs, qz)  h = DequantizeLinear(q, qs, qz)",
                          ", float qs = {0.5}, uint8 qz = {128}"));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->report.cut_nodes, 0);
  EXPECT_THAT(testing::OpsOf(testing::ParseBytes(result->files.model)),
              HasSubstr("QuantizeLinear,DequantizeLinear"));
}

}  // namespace
}  // namespace quotient::optimize
