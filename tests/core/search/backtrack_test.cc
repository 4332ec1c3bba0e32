#include "core/search/backtrack.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/core/search/term_search.h"

namespace quotient::search {
namespace {

constexpr char kCommutative[] =
    "comm-add: (+ ?a ?b) => (+ ?b ?a)\ncomm-mul: (* ?a ?b) => (* ?b ?a)\n";

class BacktrackTest : public TermSearchTest {
 protected:
  Outcome Run(TermWorkspace& workspace, const BacktrackParameters& parameters = {}) {
    return TermSearchTest::Run(BacktrackStrategy(parameters), workspace);
  }
};

TEST_F(BacktrackTest, IsDeterministic) {
  const auto once = *Make();
  const Outcome outcome = Run(*once);
  EXPECT_EQ(outcome.simulations, 300);
  task_.seed = 1;
  const auto again = *Make();
  ExpectSameOutcome(outcome, Run(*again));
  EXPECT_EQ(testing::TextOf(once->graph()), testing::TextOf(again->graph()));
}

TEST_F(BacktrackTest, FindsASmallOptimum) {
  rules_ = absl::StrCat(kCommutative, "zero: (+ ?a 0) => ?a");
  term_ = "(+ 0 (+ 0 (* a b)))";
  const auto workspace = *Make();
  const Outcome outcome = Run(*workspace);
  EXPECT_EQ(workspace->Cost({}), 3);
  EXPECT_EQ(outcome.improvements.back().cost, 3);
  // Only the matches on the path are applied: one moves a zero to the right, the next drops it. The
  // other zero is equal and needs none.
  EXPECT_EQ(outcome.matches_applied, 2);
}

// Three operators whose operands can be exchanged, each by itself, in any order.
TEST_F(BacktrackTest, NoStateIsExpandedTwice) {
  rules_ = kCommutative;
  term_ = "(+ (* a b) (* c d))";
  const Outcome outcome = Run(**Make());
  EXPECT_EQ(outcome.reason, StopReason::kExhausted);
  EXPECT_EQ(outcome.states, 8);
  EXPECT_EQ(outcome.iterations, 8);
}

TEST_F(BacktrackTest, TheBudgetBoundsExpansions) {
  rules_ = kCommutative;
  term_ = "(+ (* a b) (* c d))";
  const Outcome outcome = Run(**Make(), {.budget = 5});
  EXPECT_EQ(outcome.reason, StopReason::kIterations);
  EXPECT_EQ(outcome.iterations, 5);
}

TEST_F(BacktrackTest, WhatLagsBehindIsDropped) {
  rules_ = absl::StrCat(kCommutative, "zero: (+ ?a 0) => ?a");
  term_ = "(+ (+ (* a b) (* c d)) 0)";
  task_.limits.max_simulations = 1'000'000;
  const auto all = *Make();
  const Outcome of_all = Run(*all, {.alpha = 10, .budget = 1'000'000});
  const auto usual = *Make();
  const Outcome of_usual = Run(*usual, {.alpha = 1.05, .budget = 1'000'000});
  const auto none = *Make();
  const Outcome of_none = Run(*none, {.alpha = 1, .budget = 1'000'000});
  for (const auto* workspace : {&all, &usual, &none}) EXPECT_EQ((*workspace)->Cost({}), 7);
  EXPECT_EQ(of_all.reason, StopReason::kExhausted);
  EXPECT_EQ(of_usual.reason, StopReason::kExhausted);
  EXPECT_LT(of_usual.states, of_all.states);
  // The original and the one state that is better.
  EXPECT_EQ(of_none.states, 2);
}

TEST_F(BacktrackTest, StatesAtTheNodeLimitAreNotExpanded) {
  rules_ = kCommutative;
  term_ = "(+ (* a b) (* c d))";
  task_.limits.max_enodes = 9;  // the original has 7
  const auto workspace = *Make();
  const Outcome outcome = Run(*workspace);
  EXPECT_EQ(outcome.reason, StopReason::kExhausted);
  EXPECT_EQ(outcome.iterations, 4);  // the original and those with one more
}

TEST_F(BacktrackTest, TimeMayBeUpAtAnyMoment) {
  task_.limits.max_simulations = 1'000'000;
  ExpectTimeMayBeUpAtAnyMoment(BacktrackStrategy());
}

TEST_F(BacktrackTest, AWrongRuleIsAnError) { ExpectAWrongRuleIsAnError(BacktrackStrategy()); }

}  // namespace
}  // namespace quotient::search
