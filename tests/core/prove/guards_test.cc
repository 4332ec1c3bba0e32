// Guards without which a rule is wrong, and others.

#include "tests/core/prove/guards.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/status_matchers.h"

namespace quotient::prove {
namespace {

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

Need NeedOfGuard(const std::string& rule, const std::string& guard) {
  for (const GuardedRule& guarded : AllGuards()) {
    if (guarded.rule != rule || guarded.guard != guard) continue;
    const absl::StatusOr<Need> need = NeedOf(guarded, /*instances=*/20, /*seed=*/0);
    EXPECT_OK(need.status());
    return need.value_or(Need::kNotRefuted);
  }
  ADD_FAILURE() << rule << " has no guard " << guard;
  return Need::kNotRefuted;
}

TEST(NeedOf, WhatARuleIsWrongWithoutIsNeeded) {
  EXPECT_EQ(NeedOfGuard("mul-one", "is(?c, 1)"), Need::kNeeded);
  EXPECT_EQ(NeedOfGuard("transpose-identity", "is_identity(?p)"), Need::kNeeded);
  EXPECT_EQ(NeedOfGuard("relu-nonnegative", "nonnegative(?x)"), Need::kNeeded);
}

TEST(NeedOf, WhatKeepsARuleFromUselessWorkIsNot) {
  EXPECT_EQ(NeedOfGuard("matmul-chain", "product_is_smaller(?a, ?b)"), Need::kNotRefuted);
  EXPECT_EQ(NeedOfGuard("conv-sum", "before(?a, ?b)"), Need::kNotRefuted);
}

}  // namespace
}  // namespace quotient::prove
