#include "core/domain/steps.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::domain {
namespace {

// Whether a step reads the value q.
bool StepReadsQ(absl::string_view lines, absl::string_view outputs) {
  model::Graph graph = testing::MustParse(absl::StrCat(R"(graph g {
      input x: float32[4,6]
      input b: bool[4,6]
      const c: float32[] = [3]
      const zero: float32[] = [0]
      const w: float32[6,6] = random(1)
      const i: int64[2] = [0, 2]
      q = Mul(x, c)
      )",
                                                       lines, "\noutput ", outputs, "\n}\n"));
  EXPECT_THAT(ops::InferTypes(graph), testing::IsOk());
  return ReadBySteps(graph)[testing::MustFind(graph, "q").value()];
}

TEST(ReadBySteps, SeesStepsBehindWhatPassesLastBits) {
  for (const char* between : {"Identity(q)",
                              "Clip(q) {min=0.0, max=9.0}",
                              "Relu(q)",
                              "Abs(q)",
                              "Neg(q)",
                              "Max(q, zero)",
                              "Min(q, c)",
                              "Add(q, c)",
                              "Sub(c, q)",
                              "Mul(q, c)",
                              "Div(q, c)",
                              "Transpose(q) {perm=[1,0]}",
                              "Reshape(q) {shape=[24]}",
                              "Concat(x, q) {axis=0}",
                              "Slice(q) {starts=[0], ends=[2], axes=[0]}",
                              "Gather(q, i) {axis=0}",
                              "Where(b, x, q)",
                              "Log(q)",
                              "Sqrt(q)",
                              "Exp(q)",
                              "ReduceSum(q) {axes=[1]}",
                              "ReduceMax(q) {axes=[1]}",
                              "Expand(q) {shape=[2,4,6]}",
                              "Tile(q) {repeats=[1,2]}",
                              "Pad(q) {pads=[0,1,0,1]}",
                              "Cast(q) {to=11}",
                              "CumSum(q) {axis=0}"}) {
    EXPECT_TRUE(StepReadsQ(absl::StrCat("t = ", between, "\nz = Floor(t)"), "z")) << between;
    EXPECT_FALSE(StepReadsQ(absl::StrCat("z = ", between), "z")) << between;
  }
}

TEST(ReadBySteps, KnowsSteps) {
  for (const char* step : {"Floor(q)", "Ceil(q)", "Round(q)", "Sign(q)", "Mod(q, c) {fmod=1}",
                           "Equal(q, x)", "Less(q, x)", "GreaterOrEqual(x, q)", "Cast(q) {to=7}",
                           "Cast(q) {to=9}", "ThresholdedRelu(q)"}) {
    EXPECT_TRUE(StepReadsQ(absl::StrCat("z = ", step), "z")) << step;
  }
}

TEST(ReadBySteps, EndsAtContractionsAndNormalizations) {
  for (const char* between : {"MatMul(q, w)", "Gemm(q, w)", "Softmax(q)", "IsNaN(q)"}) {
    const absl::string_view last = absl::StrContains(between, "IsNaN") ? "Not(t)" : "Floor(t)";
    EXPECT_FALSE(StepReadsQ(absl::StrCat("t = ", between, "\nz = ", last), "z")) << between;
  }
}

// Rules find out that both are equal when the Identity is gone.
TEST(ReadBySteps, CountsCopiesAlike) {
  EXPECT_TRUE(StepReadsQ("t = Identity(x)\ns = Mul(t, c)\nz = Floor(s)", "q, z"));
  EXPECT_FALSE(StepReadsQ("t = Identity(x)\ns = Add(t, c)\nz = Floor(s)", "q, z"));
}

TEST(ReadBySteps, DoesNotCountDeadNodes) {
  EXPECT_FALSE(StepReadsQ("d = Floor(q)\nz = Relu(q)", "z"));
}

}  // namespace
}  // namespace quotient::domain
