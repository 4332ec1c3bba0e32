#include "core/search/pact.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/core/search/term_search.h"

namespace quotient::search {
namespace {

class PactTest : public TermSearchTest {
 protected:
  Outcome Run(TermWorkspace& workspace, PactParameters parameters = {}) {
    parameters.exploration = 2;  // In units of cost, which are small here.
    return TermSearchTest::Run(PactStrategy(parameters), workspace);
  }
  // A term in which little more can be done than to drop its zeros.
  void UseASmallWorld() {
    rules_ = "comm: (+ ?a ?b) => (+ ?b ?a)\nzero: (+ ?a 0) => ?a";
    term_ = "(+ 0 (+ 0 a))";
  }
};

TEST_F(PactTest, TheSeedDecides) {
  std::set<std::string> texts;
  for (int seed = 0; seed < 3; ++seed) {
    task_.seed = seed;
    const auto once = *Make();
    const Outcome outcome = Run(*once);
    const auto again = *Make();
    ExpectSameOutcome(outcome, Run(*again));
    EXPECT_EQ(testing::TextOf(once->graph()), testing::TextOf(again->graph()));
    texts.insert(testing::TextOf(once->graph()));
  }
  EXPECT_GT(texts.size(), 1u);
}

TEST_F(PactTest, FindsASmallOptimum) {
  UseASmallWorld();
  const auto workspace = *Make();
  const Outcome outcome = Run(*workspace);
  EXPECT_EQ(workspace->BestTerm(), "a");
  EXPECT_EQ(outcome.improvements.back().cost, 1);
  EXPECT_EQ(outcome.reason, StopReason::kSaturated);
  EXPECT_GT(outcome.by_rule[0].changed, 0);
  EXPECT_GT(outcome.by_rule[1].changed, 0);
  EXPECT_EQ(outcome.by_rule[0].changed + outcome.by_rule[1].changed, outcome.matches_applied);
}

TEST_F(PactTest, NothingToDoIsSaturated) {
  rules_ = "comm: (+ ?a ?b) => (+ ?b ?a)";
  term_ = "a";
  const Outcome outcome = Run(**Make());
  EXPECT_EQ(outcome.reason, StopReason::kSaturated);
  EXPECT_EQ(outcome.simulations, 0);
}

TEST_F(PactTest, GoesOnToTheNodeLimit) {
  task_.limits.max_simulations = 1'000'000;
  const auto workspace = *Make();
  const double start = workspace->Cost({});
  const Outcome outcome = Run(*workspace, {.simulations_per_commit = 16});
  EXPECT_EQ(outcome.reason, StopReason::kNodeLimit);
  EXPECT_GE(workspace->graph().num_enodes(), task_.limits.max_enodes);
  EXPECT_LT(workspace->Cost({}), start);
}

// Simulations lead to a commit only once the tree for it is complete.
TEST_F(PactTest, SimulationsAreCounted) {
  const Outcome outcome = Run(**Make());
  EXPECT_EQ(outcome.reason, StopReason::kIterations);
  EXPECT_EQ(outcome.simulations, 300);
  EXPECT_EQ(outcome.iterations, 2);
  for (const Improvement& improvement : outcome.improvements) {
    EXPECT_EQ(improvement.simulations % 128, 0);
  }
  task_.limits.max_simulations = 127;
  EXPECT_EQ(Run(**Make()).matches_applied, 0);
}

TEST_F(PactTest, CommitsAreCounted) {
  const Outcome outcome = Run(**Make(), {.simulations_per_commit = 8, .max_commits = 3});
  EXPECT_EQ(outcome.reason, StopReason::kIterations);
  EXPECT_EQ(outcome.iterations, 3);
  EXPECT_EQ(outcome.simulations, 24);
}

TEST_F(PactTest, TimeMayBeUpAtAnyMoment) {
  task_.limits.max_simulations = 1'000'000;
  ExpectTimeMayBeUpAtAnyMoment(PactStrategy());
}

TEST_F(PactTest, AWrongRuleIsAnError) { ExpectAWrongRuleIsAnError(PactStrategy()); }

TEST(Pact, StatesAreValuedAsPublished) {
  EXPECT_STREQ(FindStrategy("pact")->extractor(), "history");
  EXPECT_STREQ(FindStrategy("pact-ilp")->extractor(), "ilp");
  EXPECT_STREQ(FindStrategy("mcts")->extractor(), "dag");
}

}  // namespace
}  // namespace quotient::search
