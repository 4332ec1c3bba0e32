#include "core/search/mcts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/search/saturate.h"
#include "tests/core/search/term_search.h"

namespace quotient::search {
namespace {

// Searches with one worker unless a test sets another number.
class MctsTest : public TermSearchTest {
 protected:
  MctsTest() {
    task_.limits.max_simulations = 3'000;
    task_.make_workspace = [this] {
      ++num_made_;
      return Make();
    };
  }
  Outcome Run(TermWorkspace& workspace) { return TermSearchTest::Run(mcts_, workspace); }

  const MctsStrategy mcts_;
  std::atomic<int> num_made_{0};
};

TEST_F(MctsTest, TheNumberOfWorkersMakesNoDifference) {
  std::string text;
  Outcome outcome;
  for (const int workers : {1, 2, 8, 16, 32}) {
    SCOPED_TRACE(workers);
    task_.workers = workers;
    const auto workspace = *Make();
    Outcome got = Run(*workspace);
    if (workers == 1) {
      text = testing::TextOf(workspace->graph());
      outcome = std::move(got);
      EXPECT_EQ(num_made_, 0);
      EXPECT_GE(outcome.simulations, 3'000);
      EXPECT_EQ(outcome.reason, StopReason::kIterations);
      continue;
    }
    EXPECT_EQ(testing::TextOf(workspace->graph()), text);
    ExpectSameOutcome(got, outcome);
  }
}

TEST_F(MctsTest, IsNeverWorseThanSaturationWithTheSameLimits) {
  for (int seed = 0; seed < 3; ++seed) {
    term_ = testing::ReadRewritingFile(absl::StrCat("geb/math_d7_s", seed, ".txt"));
    const auto saturated = *Make();
    Rewriter rewriter(&saturated->graph(), saturated->rules());
    ASSERT_TRUE(Saturate(rewriter, task_.limits, {}, {}).ok());
    saturated->OnGraphGrown();
    const auto searched = *Make();
    const Outcome outcome = Run(*searched);
    EXPECT_LE(searched->Cost({}), saturated->Cost({}));
    EXPECT_EQ(searched->Cost({}), outcome.improvements.back().cost);
  }
}

TEST_F(MctsTest, EndsAtOnceWhereAllThereIsCanBeHad) {
  rules_ = "comm: (+ ?a ?b) => (+ ?b ?a)\nzero: (+ ?a 0) => ?a";
  term_ = "(+ 0 (+ 0 a))";
  const auto workspace = *Make();
  const Outcome outcome = Run(*workspace);
  EXPECT_EQ(outcome.reason, StopReason::kSaturated);
  EXPECT_EQ(outcome.simulations, 1);
  EXPECT_EQ(workspace->Cost({}), 1);
  EXPECT_EQ(workspace->BestTerm(), "a");
  EXPECT_GT(outcome.by_rule[0].changed + outcome.by_rule[1].changed, 0);
}

TEST_F(MctsTest, NothingToDoIsSaturated) {
  rules_ = "comm: (+ ?a ?b) => (+ ?b ?a)";
  term_ = "a";
  const Outcome outcome = Run(**Make());
  EXPECT_EQ(outcome.reason, StopReason::kSaturated);
  EXPECT_EQ(outcome.simulations, 0);
}

// There is room to exchange the operands of two of the three sums. States are reached in any order,
// and nothing else can be done in them.
TEST_F(MctsTest, WhereThereIsNoRoomForAllItEndsWhenNothingIsLeftToTry) {
  rules_ = "comm: (+ ?a ?b) => (+ ?b ?a)";
  term_ = "(+ (+ a b) (+ c d))";
  task_.limits.max_enodes = 9;  // the original has 7
  std::string text;
  for (const int workers : {1, 2, 8}) {
    task_.workers = workers;
    const auto workspace = *Make();
    const Outcome outcome = Run(*workspace);
    EXPECT_EQ(outcome.reason, StopReason::kExhausted);
    EXPECT_LT(outcome.simulations, task_.limits.max_simulations);
    if (workers == 1) text = testing::TextOf(workspace->graph());
    EXPECT_EQ(testing::TextOf(workspace->graph()), text);
  }
}

TEST_F(MctsTest, TimeMayBeUpAtAnyMoment) {
  task_.limits.max_simulations = 1'000'000;
  task_.workers = 2;
  ExpectTimeMayBeUpAtAnyMoment(mcts_);
}

TEST_F(MctsTest, AWorkerThatCannotBeginIsAnError) {
  task_.workers = 2;
  task_.make_workspace = [] { return absl::InternalError("no room"); };
  const auto workspace = *Make();
  const auto outcome = mcts_.Run(*workspace, task_);
  EXPECT_EQ(outcome.status().message(), "no room");
}

TEST_F(MctsTest, AWrongRuleIsAnError) { ExpectAWrongRuleIsAnError(mcts_); }

}  // namespace
}  // namespace quotient::search
