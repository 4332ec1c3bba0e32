#include "core/journal/premises.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/core/journal/recorded_search.h"

namespace quotient::journal {
namespace {

using egraph::ENodeId;
using egraph::Match;
using ::testing::Contains;
using ::testing::IsSupersetOf;

constexpr char kGraph[] = R"(graph g {
  input x: float32[2,4]
  const one: float32[] = [1]
  a = Neg(x)
  b = Neg(a)
  c = Mul(b, one)
  output c
})";
constexpr char kRules[] = "neg-neg: Neg(Neg(?x)) => ?x\nabs-more: Mul(?x, ?y) => Mul(?y, ?x)\n";

class PremisesTest : public ::testing::Test {
 protected:
  Premises Of(const RecordedSearch& search, const char* rule, const Match& match) {
    enodes_ = AsAdded(search.egraph());
    return Premises(search.rule(rule), match, search.tensors(), enodes_, &budget_);
  }

  ENodeTable enodes_;
  StepBudget budget_{StopCondition()};
};

TEST_F(PremisesTest, APatternRestsOnTheENodesThatItWasFoundIn) {
  const RecordedSearch search(kGraph, kRules);
  const Premises premises = Of(search, "neg-neg", search.MatchesOf("neg-neg").at(0));
  EXPECT_TRUE(premises.matches());
  const ENodeId a = search.ENodeOf("a"), b = search.ENodeOf("b");
  EXPECT_THAT(premises.equalities(), IsSupersetOf({Equality(a, a), Equality(b, b)}));
  EXPECT_THAT(premises.equalities(),
              ::testing::Not(Contains(Equality(search.ENodeOf("c"), search.ENodeOf("c")))));
}

// b is in the class of x now, whose oldest e-node is that of x.
TEST_F(PremisesTest, TheOldestENodeThatAMatchRestsOnRepresentsItsClass) {
  RecordedSearch search(kGraph, kRules);
  ASSERT_TRUE(search.Apply("neg-neg", search.MatchesOf("neg-neg").at(0)));
  const ENodeId b = search.ENodeOf("b"), x = search.ENodeOf("x");
  const auto cls = search.egraph().class_of(x);
  ASSERT_EQ(search.egraph().class_of(b), cls);
  const std::vector<Match> matches = search.MatchesOf("neg-neg");
  ASSERT_FALSE(matches.empty());
  const Premises premises = Of(search, "neg-neg", matches[0]);
  EXPECT_TRUE(premises.matches());
  EXPECT_EQ(premises.RepresentativeOf(cls), std::min(b, x));
  EXPECT_THAT(premises.equalities(), Contains(Equality(std::min(b, x), std::max(b, x))));
}

TEST_F(PremisesTest, WhatTheRuleDoesNotMatchIsToldApart) {
  const RecordedSearch search(kGraph, kRules);
  Match match = search.MatchesOf("neg-neg").at(0);
  std::swap(match.classes[0], match.classes[1]);
  EXPECT_FALSE(Of(search, "neg-neg", match).matches());
}

// Guards read the values of constants.
TEST_F(PremisesTest, ConstantsOfAMatchBelongToIt) {
  const RecordedSearch search(kGraph, kRules);
  const Premises premises = Of(search, "abs-more", search.MatchesOf("abs-more").at(0));
  const ENodeId one = search.ENodeOf("one");
  EXPECT_THAT(premises.equalities(), Contains(Equality(one, one)));
}

// Only the e-node around which it was found is known of such a match. That reads d, and the rule
// has read the inner Concat, which is equal to d.
TEST_F(PremisesTest, ASiteRuleRestsOnWhatItLikelyRead) {
  RecordedSearch search(R"(graph g {
    input x: float32[2]
    input y: float32[2]
    a = Concat(x, y) {axis=0}
    c = Neg(a)
    d = Neg(c)
    b = Concat(d, x) {axis=0}
    output b
  })");
  ASSERT_TRUE(search.Apply("neg-neg"));
  const Premises premises = Of(search, "concat-concat", search.MatchesOf("concat-concat").at(0));
  EXPECT_TRUE(premises.matches());
  const ENodeId a = search.ENodeOf("a"), b = search.ENodeOf("b"), d = search.ENodeOf("d");
  EXPECT_THAT(premises.equalities(), IsSupersetOf({Equality(a, d), Equality(b, b)}));
}

}  // namespace
}  // namespace quotient::journal
