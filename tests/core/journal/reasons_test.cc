#include "core/journal/reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace quotient::journal {
namespace {

using egraph::ENodeId;
using egraph::OpId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The leaves a, b and c came with the model and have the numbers 0 to 2.
class ReasonsTest : public ::testing::Test {
 protected:
  ReasonsTest() {
    for (uint32_t i = 0; i < 3; ++i) Add(i, {}, Reasons::kNone);
  }
  ENodeId Add(uint32_t op, const std::vector<ENodeId>& children, uint32_t rewrite) {
    reasons_.AddENode(OpId(op), children, rewrite);
    return ENodeId(reasons_.enodes().size() - 1);
  }
  std::vector<uint32_t> Needed(ENodeId a, ENodeId b) {
    const Equality equality(a, b);
    return reasons_.RewritesFor(std::span(&equality, 1), &budget_);
  }

  static constexpr uint32_t kF = 9;
  const ENodeId a_{0}, b_{1}, c_{2};
  StepBudget budget_{StopCondition()};
  Reasons reasons_;
};

TEST_F(ReasonsTest, WhatCameWithTheModelNeedsNothing) { EXPECT_THAT(Needed(a_, a_), IsEmpty()); }

TEST_F(ReasonsTest, AnENodeNeedsTheRewriteThatMadeIt) {
  const ENodeId fa = Add(kF, {a_}, 0);
  reasons_.AddRewrite({});
  const ENodeId ffa = Add(kF, {fa}, 1);
  reasons_.AddRewrite({});
  EXPECT_THAT(Needed(ffa, ffa), ElementsAre(0, 1)) << "and those that made what it reads";
  EXPECT_THAT(Needed(fa, fa), ElementsAre(0));
}

TEST_F(ReasonsTest, AnEqualityNeedsTheRewritesOnItsPathAlone) {
  reasons_.AddUnion(a_, b_, 0);
  reasons_.AddRewrite({});
  reasons_.AddUnion(b_, c_, 1);
  reasons_.AddRewrite({});
  EXPECT_THAT(Needed(a_, b_), ElementsAre(0));
  EXPECT_THAT(Needed(a_, c_), ElementsAre(0, 1));
}

TEST_F(ReasonsTest, AnEqualityNeverNeedsWhatCameLater) {
  reasons_.AddUnion(a_, b_, 0);
  reasons_.AddRewrite({});
  reasons_.AddUnion(b_, c_, 1);
  reasons_.AddRewrite({});
  // A shorter way, which was not there when the others were made.
  reasons_.AddUnion(a_, c_, 2);
  reasons_.AddRewrite({});
  EXPECT_THAT(Needed(a_, c_), ElementsAre(0, 1));
}

TEST_F(ReasonsTest, CongruentENodesAreEqualBecauseOfTheirChildren) {
  const ENodeId fa = Add(kF, {a_}, 0);
  reasons_.AddRewrite({});
  const ENodeId fb = Add(kF, {b_}, 1);
  reasons_.AddRewrite({});
  reasons_.AddUnion(a_, b_, 2);
  reasons_.AddRewrite({});
  EXPECT_THAT(Needed(fa, fb), ElementsAre(0, 1, 2));
}

TEST_F(ReasonsTest, ARewriteNeedsWhatItRestsOn) {
  reasons_.AddUnion(a_, b_, 0);
  reasons_.AddRewrite({});
  reasons_.AddUnion(b_, c_, 1);
  reasons_.AddRewrite({{a_, b_}});
  reasons_.AddRewrite({{b_, c_}});
  EXPECT_THAT(Needed(b_, c_), ElementsAre(0, 1));
  EXPECT_THAT(reasons_.RewritesBefore(1, &budget_), ElementsAre(0));
  EXPECT_THAT(reasons_.RewritesBefore(2, &budget_), ElementsAre(1)) << "without what that rests on";
}

TEST_F(ReasonsTest, ARewriteMayRestOnOthersThatWereNamed) {
  for (uint32_t i = 0; i < 3; ++i) reasons_.AddRewrite({});
  reasons_.AddUnion(a_, b_, 3);
  reasons_.AddRewrite({});
  reasons_.SetEarlier(3, {0, 2});
  EXPECT_THAT(Needed(a_, b_), ElementsAre(0, 2, 3));
  EXPECT_THAT(reasons_.RewritesBefore(3, &budget_), IsEmpty()) << "no equality needs them";
  reasons_.SetEarlier(3, {1});
  EXPECT_THAT(Needed(a_, b_), ElementsAre(1, 3)) << "only what was said last counts";
}

}  // namespace
}  // namespace quotient::journal
