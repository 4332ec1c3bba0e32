// A sample of the mass run: all rules on random graphs, in the evaluator and in ONNX Runtime. And
// the run itself: it finds what is wrong.

#include "tests/core/prove/soak.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/kernels/onnxruntime/ort_backend.h"
#include "tests/support/status_matchers.h"

namespace quotient::prove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

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
  EXPECT_THAT(result.of_symbols,
              UnorderedElementsAre("gather-shape", "shape-of-input", "slice-shape"));
}

// Of a family of one rule, called "rule", with its case.
SoakResult ResultOf(const char* text, const std::string& graph) {
  const rules::Family families[] = {{"family", text, nullptr, nullptr}};
  const rules::RuleCase cases[] = {{"rule", "graph g {" + graph + "}", ""}};
  SoakOptions options;
  options.graphs = 30;
  options.families = families;
  options.cases = cases;
  const auto result = Soak(options, nullptr);
  EXPECT_OK(result.status());
  return result.value_or(SoakResult());
}

TEST(Soak, AWrongRuleIsFound) {
  const auto failures =
      ResultOf("rule: Sub(?x, ?y) => Sub(?y, ?x)",
               "input x: float32[2,3] input y: float32[2,3] z = Sub(x, y) output z")
          .failures;
  ASSERT_EQ(failures.size(), kMostFailures);
  EXPECT_THAT(failures[0], HasSubstr("Sub(x, y)"));
}

// It is right where the matrix is square and the constant a row of equal numbers, as in its case.
TEST(Soak, ARuleThatIsWrongInOtherShapesIsFound) {
  EXPECT_THAT(ResultOf("rule: Mul(MatMul(?x, ?w), ?s) => MatMul(Mul(?x, ?s), ?w)",
                       "input x: float32[2,3] const w: float32[3,3] = random(1) "
                       "const s: float32[3] = [2, 2, 2] a = MatMul(x, w) z = Mul(a, s) output z")
                  .failures,
              Not(IsEmpty()));
}

// The graphs that are made for the second rule have no e-node of the first one.
TEST(Soak, TheRuleThatWasAppliedAloneIsNamed) {
  const rules::Family families[] = {
      {"family", "right: Neg(Neg(?x)) => ?x\nwrong: Sub(?x, ?y) => Sub(?y, ?x)", nullptr, nullptr}};
  const rules::RuleCase cases[] = {
      {"right", "graph g { input x: float32[2,3] a = Neg(x) z = Neg(a) output z }", ""},
      {"wrong", "graph g { input x: float32[2,3] input y: float32[2,3] z = Sub(x, y) output z }",
       ""}};
  SoakOptions options;
  options.graphs = 30;
  options.families = families;
  options.cases = cases;
  ASSERT_OK_AND_ASSIGN(const SoakResult result, Soak(options, nullptr));
  ASSERT_THAT(result.failures, Not(IsEmpty()));
  for (const std::string& failure : result.failures) {
    EXPECT_THAT(failure, HasSubstr("by rule wrong"));
  }
}

TEST(Soak, ARightRuleIsNoFailureAndIsCounted) {
  const SoakResult result =
      ResultOf("rule: Neg(Neg(?x)) => ?x", "input x: float32[2,3] a = Neg(x) z = Neg(a) output z");
  EXPECT_THAT(result.failures, IsEmpty());
  EXPECT_GE(result.graphs, 30);
  EXPECT_GT(result.equations, result.graphs);
  const SoakTally& tally = result.tallies.at("rule");
  EXPECT_EQ(tally.graphs, result.graphs) << "graphs without the rule do not count";
  EXPECT_GE(tally.changes, tally.graphs);
  EXPECT_EQ(tally.on_device, 0);
}

TEST(Soak, GraphsAreMadeForTheRulesThatAreWanted) {
  const rules::Family families[] = {
      {"family", "wanted: Neg(Neg(?x)) => ?x\nother: Abs(Abs(?x)) => Abs(?x)", nullptr, nullptr}};
  const rules::RuleCase cases[] = {
      {"wanted", "graph g { input x: float32[2,3] a = Neg(x) z = Neg(a) output z }", ""},
      {"other", "graph g { input x: float32[2,3] a = Abs(x) z = Abs(a) output z }", ""}};
  SoakOptions options;
  options.graphs = 10;
  options.families = families;
  options.cases = cases;
  options.rules = {"wanted"};
  ASSERT_OK_AND_ASSIGN(const SoakResult result, Soak(options, nullptr));
  EXPECT_THAT(result.failures, IsEmpty());
  ASSERT_THAT(result.tallies, SizeIs(1));
  EXPECT_GE(result.tallies.at("wanted").graphs, 10);
}

TEST(Soak, RulesThatChangeTooFewGraphsAreNamed) {
  const SoakResult result =
      ResultOf("rule: Neg(Neg(?x)) => ?x", "input x: float32[2,3] a = Neg(x) z = Neg(a) output z");
  const SoakTally& tally = result.tallies.at("rule");
  EXPECT_THAT(TooRare(result, tally.graphs), IsEmpty());
  EXPECT_GE(tally.turns, tally.graphs / 2);
  EXPECT_THAT(TooRare(result, tally.graphs + 1),
              ElementsAre(absl::StrCat("too few: rule changed ", tally.graphs, " of ",
                                       tally.graphs + 1, " graphs, in ", tally.turns, " turns")));
  SoakResult nothing;
  nothing.tallies["late"];
  EXPECT_THAT(TooRare(nothing, 1), ElementsAre("too few: late changed 0 of 1 graphs, in 0 turns: "
                                               "the run ended before it had one"));
}

// The Reciprocal is subnormal where x is large, and has lost digits.
TEST(Soak, WhatUnderflowsIsNoFailure) {
  const SoakResult result =
      ResultOf("rule: Mul(?x, Reciprocal(?y)) => Div(?x, ?y)",
               "input x: float32[4] const c: float32[1] = [1e25] const d: float32[1] = [1e13] "
               "y = Mul(x, c) big = Mul(y, d) r = Reciprocal(big) z = Mul(y, r) output z");
  EXPECT_THAT(result.failures, IsEmpty());
  EXPECT_GE(result.tallies.at("rule").graphs, 1);
}

}  // namespace
}  // namespace quotient::prove
