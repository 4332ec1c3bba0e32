// Guards without which a rule is wrong, and others.

#include "tests/core/prove/guards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/model/graph.h"
#include "tests/core/prove/guard_graphs.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/status_matchers.h"

namespace quotient::prove {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(WithoutGuard, LeavesTheOthers) {
  constexpr char kRule[] = "a: f(?x) => ?x\n  if one(?x) and not two(?x, word)\n    and three(?x)";
  EXPECT_EQ(WithoutGuard(kRule, 0).guard, "one(?x)");
  EXPECT_EQ(WithoutGuard(kRule, 0).without, "a: f(?x) => ?x if not two(?x, word) and three(?x)");
  EXPECT_EQ(WithoutGuard(kRule, 1).guard, "not two(?x, word)");
  EXPECT_EQ(WithoutGuard(kRule, 1).without, "a: f(?x) => ?x if one(?x) and three(?x)");
  EXPECT_EQ(WithoutGuard(kRule, 3).guard, "");
  EXPECT_EQ(WithoutGuard("a: f(?x) => ?x if one(?x)", 0).without, "a: f(?x) => ?x");
  EXPECT_EQ(WithoutGuard("a: f(?x) => ?x", 0).guard, "");
}

TEST(AllGuards, HoldThoseOfEveryFamily) {
  size_t last_family = 0;
  bool has_negated = false;
  for (const GuardedRule& guarded : AllGuards()) {
    last_family = guarded.family;
    has_negated |= guarded.guard == "not made_by(?x, Gemm)";
  }
  EXPECT_GE(AllGuards().size(), 400u);
  EXPECT_GE(last_family, 5u);
  EXPECT_TRUE(has_negated);
}

GuardFinding FindingOf(const std::string& rule, const std::string& guard) {
  for (const GuardedRule& guarded : AllGuards()) {
    if (guarded.rule != rule || guarded.guard != guard) continue;
    const absl::StatusOr<GuardFinding> finding = NeedOf(guarded, /*instances=*/20, /*seed=*/0);
    EXPECT_OK(finding.status());
    return finding.value_or(GuardFinding{Need::kNotRefuted, ""});
  }
  ADD_FAILURE() << rule << " has no guard " << guard;
  return {Need::kNotRefuted, ""};
}

TEST(NeedOf, WhatARuleIsWrongWithoutIsNeeded) {
  const GuardFinding one = FindingOf("mul-one", "is(?c, 1)");
  EXPECT_EQ(one.need, Need::kNeeded);
  EXPECT_THAT(one.why, HasSubstr("differs: "));
  EXPECT_EQ(FindingOf("transpose-identity", "is_identity(?p)").need, Need::kNeeded);
  EXPECT_EQ(FindingOf("relu-nonnegative", "nonnegative(?x)").need, Need::kNeeded);
}

TEST(NeedOf, WhatKeepsARuleFromUselessWorkIsNot) {
  const GuardFinding product = FindingOf("matmul-chain", "product_is_smaller(?a, ?b)");
  EXPECT_EQ(product.need, Need::kNotRefuted);
  EXPECT_THAT(product.why,
              ContainsRegex("^exact.* in [0-9]+ graphs with numbers and [0-9]+ with symbols; it "
                            "refuses a match in [1-9][0-9]* of [0-9]+ searches that find one$"));
  const GuardFinding smooth = FindingOf("softmax-parts", "smooth(?z)");
  EXPECT_EQ(smooth.need, Need::kNotRefuted);
  EXPECT_THAT(smooth.why, ContainsRegex("^numeric: differs: .*; not exact in .*; left open: "));
}

TEST(NeedOf, WhatNoGraphHasIsSaid) {
  const GuardFinding order = FindingOf("expand-multiply", "keeps(?y, ?x)");
  EXPECT_EQ(order.need, Need::kNotRefuted);
  EXPECT_THAT(order.why, HasSubstr("; no graph that was tried has what it refuses"));
}

// No case has another Clip than that to [0, 6] where all else is there.
TEST(NeedOf, GraphsAreMadeThatHaveWhatAGuardRefuses) {
  EXPECT_EQ(FindingOf("hardswish", "zero_to_six(?c)").need, Need::kNeeded);
  EXPECT_EQ(FindingOf("hardsigmoid", "is(?three, 3)").need, Need::kNeeded);
}

TEST(NeedOf, WhatOverflowsWithoutAGuardIsFound) {
  const GuardFinding scale = FindingOf("cube-scaled", "reaches_far(?x)");
  EXPECT_EQ(scale.need, Need::kForSomeNumbers);
  EXPECT_THAT(scale.why, HasSubstr("for numbers up to 1000: "));
}

TEST(Provoked, GraphsHaveOtherNumbersShapesAndTypes) {
  const model::Graph graph = rules::ParseStatic(R"(graph g {
  input x: float32[2,3]
  input y: float32[2,3]
  const c: float32[3] = [1, 2, 3]
  s = Mul(x, c)
  z = Add(s, y)
  output z
})");
  Rng rng(1);
  bool has_other_type = false;
  bool has_other_shape = false;
  bool has_other_numbers = false;
  bool has_joined_inputs = false;
  for (int i = 0; i < 200; ++i) {
    const std::optional<model::Graph> made = Provoked(graph, rng);
    if (!made) continue;
    EXPECT_OK(model::Validate(*made));
    const model::Value& c = made->value(model::ValueId(2));
    has_other_type |= c.type.dtype == model::DType::kFloat64;
    has_other_shape |= c.type.rank() == 2;
    has_other_numbers |= c.constant && c.type == graph.value(model::ValueId(2)).type &&
                         c.constant->GetDouble(0) != 1;
    has_joined_inputs |= made->nodes[0].inputs[0] == made->nodes[1].inputs[1];
  }
  EXPECT_TRUE(has_other_type && has_other_shape && has_other_numbers && has_joined_inputs);
}

// The rule's other left side has the Convs in the other order, which none of its cases has.
TEST(NeedOf, ARuleThatDoesNotApplyIsNotTried) {
  std::vector<GuardFinding> findings;
  for (const GuardedRule& guarded : AllGuards()) {
    if (guarded.rule != "conv-sum" || guarded.guard != "weight(?a)") continue;
    ASSERT_OK_AND_ASSIGN(const GuardFinding finding, NeedOf(guarded, /*instances=*/5, /*seed=*/0));
    findings.push_back(finding);
  }
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[1].need, Need::kNotTried);
  EXPECT_THAT(findings[1].why, HasSubstr("its right side cannot be built there"));
}

}  // namespace
}  // namespace quotient::prove
