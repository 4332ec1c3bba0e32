// A sample of the mass run: all rules on random graphs, in the evaluator and in ONNX Runtime. And
// the run itself: it finds what is wrong.

#include "tests/core/prove/soak.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/kernels/onnxruntime/ort_backend.h"
#include "tests/support/status_matchers.h"

namespace quotient::prove {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Soak, ASampleIsSoundInTheEvaluatorAndInOnnxRuntime) {
  ASSERT_OK_AND_ASSIGN(const auto device,
                       kernels::onnxruntime::NewBackend(kernels::onnxruntime::kCpuDevice, 1, {}));
  SoakOptions options;
  options.graphs = 400;
  options.firings = 1;
  options.seed = 1;
  ASSERT_OK_AND_ASSIGN(const SoakResult result, Soak(options, device.get()));
  EXPECT_THAT(result.failures, IsEmpty());
  EXPECT_GE(result.graphs, 400);
  EXPECT_GE(result.on_device, 40);
  for (const auto& [rule, tally] : result.tallies) EXPECT_GE(tally.graphs, 1) << rule;
}

// A family of one rule, with its case.
std::vector<std::string> FailuresOf(const char* text, const std::string& graph) {
  const rules::Family families[] = {{"wrong", text, nullptr, nullptr}};
  const rules::RuleCase cases[] = {{"wrong", "graph g {" + graph + "}", ""}};
  SoakOptions options;
  options.graphs = 30;
  options.families = families;
  options.cases = cases;
  const auto result = Soak(options, nullptr);
  EXPECT_OK(result.status());
  return result.ok() ? result->failures : std::vector<std::string>();
}

TEST(Soak, AWrongRuleIsFound) {
  const auto failures =
      FailuresOf("wrong: Sub(?x, ?y) => Sub(?y, ?x)",
                 "input x: float32[2,3] input y: float32[2,3] z = Sub(x, y) output z");
  ASSERT_EQ(failures.size(), kMostFailures);
  EXPECT_THAT(failures[0], HasSubstr("Sub(x, y)"));
}

// It is right where the matrix is square and the constant a row of equal numbers, as in its case.
TEST(Soak, ARuleThatIsWrongInOtherShapesIsFound) {
  EXPECT_FALSE(FailuresOf("wrong: Mul(MatMul(?x, ?w), ?s) => MatMul(Mul(?x, ?s), ?w)",
                          "input x: float32[2,3] const w: float32[3,3] = random(1) "
                          "const s: float32[3] = [2, 2, 2] a = MatMul(x, w) z = Mul(a, s) output z")
                   .empty());
}

TEST(Soak, ARightRuleIsNoFailureAndIsCounted) {
  EXPECT_THAT(FailuresOf("wrong: Neg(Neg(?x)) => ?x",
                         "input x: float32[2,3] a = Neg(x) z = Neg(a) output z"),
              IsEmpty());
}

}  // namespace
}  // namespace quotient::prove
