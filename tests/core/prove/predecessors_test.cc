// The rules of the systems before Quotient are what their files say of them.

#include "tests/core/prove/predecessors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tests/core/prove/predecessor_findings.h"
#include "tests/support/status_matchers.h"

namespace quotient::prove {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class PredecessorTest : public ::testing::TestWithParam<Predecessor> {};

TEST_P(PredecessorTest, IsWhatItsFileSays) {
  const Predecessor& rule = GetParam();
  ASSERT_OK_AND_ASSIGN(const Finding finding, Examine(rule, /*instances=*/40, /*seed=*/0));
  EXPECT_TRUE(IsAsExpected(rule, finding))
      << NameOf(finding.derivation) << "\n"
      << finding.difference << "\ncounterexample: " << finding.counterexample;
  EXPECT_EQ(finding.exact, finding.instances);
}

TEST_P(PredecessorTest, SaysWhy) {
  const Predecessor& rule = GetParam();
  EXPECT_NE(rule.equation, "");
  EXPECT_EQ(rule.why.empty(), rule.mark == Mark::kSound);
  EXPECT_EQ(rule.fails.empty(), rule.mark == Mark::kSound);
  EXPECT_TRUE(rule.by_design.empty() || rule.derivation == Derivation::kNotDerived);
}

INSTANTIATE_TEST_SUITE_P(All, PredecessorTest, ::testing::ValuesIn(Predecessors()),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Predecessors, AreAll139) {
  std::set<std::string> names;
  std::map<std::string, int> counts;
  for (const Predecessor& rule : Predecessors()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    ++counts[rule.name.substr(0, rule.name.find('-'))];
  }
  for (int line = 0; line < 120; ++line) {
    EXPECT_TRUE(names.contains("single-" + std::to_string(line))) << line;
  }
  for (int rule = 1; rule <= 15; ++rule) {
    EXPECT_TRUE(names.contains("multi-" + std::to_string(rule))) << rule;
  }
  EXPECT_EQ(counts["single"], 120);
  EXPECT_EQ(counts["hand"], 4);
  EXPECT_EQ(counts["multi"], 15);
}

TEST(Predecessors, InstancesHaveTextsAndNumbersForNames) {
  Predecessor rule;
  rule.texts = {{"op", "Add"}, {"shape", "$n,$(2*n+1)"}};
  rule.sizes = {{"n", {3, 3}}, {"m", {2, 5}}};
  rule.holds = {{"m", "$n"}};
  rule.fails = {{"n", "4"}};
  rule.operands = "input x: float32[$shape] weight w: float32[$m]";
  rule.left = "l = $op(x, w)";
  rule.right = "r = $op(w, x)";
  Rng rng(0);
  EXPECT_EQ(DrawInstance(rule, Weights::kConstants, rng).Both(),
            "graph both {\ninput x: float32[3,7] const w: float32[3] = random(4)\n"
            "l = Add(x, w)\nr = Add(w, x)\noutput l, r\n}\n");
  EXPECT_EQ(Counterexample(rule).Left(),
            "graph left {\ninput x: float32[4,9] input w: float32[2]\nl = Add(x, w)\n"
            "output l\n}\n");
}

// The test itself: what is wrong shows.
TEST(Examine, AWrongRuleDiffers) {
  Predecessor rule;
  rule.name = "wrong";
  rule.operands = "input x: float32[$n,2] weight y: float32[$n,2]";
  rule.sizes["n"] = {1, 3};
  rule.left = "l = Sub(x, y)";
  rule.right = "r = Sub(y, x)";
  ASSERT_OK_AND_ASSIGN(const Finding finding, Examine(rule, 5, 0));
  EXPECT_THAT(finding.difference, HasSubstr("became equal"));
  EXPECT_EQ(finding.derivation, Derivation::kNotDerived);
}

// All instances that it draws are right; those of other shapes are not.
TEST(Examine, ASideConditionThatShapesBreakShows) {
  Predecessor rule;
  rule.name = "wrong";
  rule.operands = "input x: float32[2,$n] input y: float32[2,$n]";
  rule.sizes["n"] = {1, 3};
  rule.left = "s = Add(x, y) l = ReduceSum(s) {axes=[1]}";
  rule.right = "u = ReduceSum(x) {axes=[1]} v = ReduceSum(y) {axes=[1]} r = Add(u, v)";
  ASSERT_OK_AND_ASSIGN(const Finding finding, Examine(rule, 100, 0));
  EXPECT_THAT(finding.difference, Not(IsEmpty()));
}

}  // namespace
}  // namespace quotient::prove
