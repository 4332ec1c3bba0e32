#include "core/search/mcts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/search/saturate.h"
#include "tests/support/egraph/graph_text.h"
#include "tests/support/egraph/rewriting_data.h"
#include "tests/support/egraph/term_workspace.h"

namespace quotient::search {
namespace {

using testing::TermWorkspace;

// One worker, on a term of the files.
class MctsTest : public ::testing::Test {
 protected:
  MctsTest() {
    task_.limits.max_enodes = 600;
    task_.limits.max_matches_per_rule = 100;
    task_.limits.max_simulations = 3'000;
    task_.make_workspace = [this] {
      ++num_made_;
      return Make();
    };
  }

  absl::StatusOr<std::unique_ptr<TermWorkspace>> Make() const {
    return TermWorkspace::Make(testing::MathAlgebra(), rules_, "rules", term_);
  }
  Outcome Run(TermWorkspace& workspace) {
    absl::StatusOr<Outcome> outcome = FindStrategy("mcts")->Run(workspace, task_);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(workspace.graph().num_marks(), 0u);
    EXPECT_FALSE(workspace.graph().dirty());
    return *std::move(outcome);
  }

  std::string rules_ = testing::ReadRewritingFile("geb/math-rules.txt");
  std::string term_ = testing::ReadRewritingFile("geb/math_d7_s1.txt");
  Task task_;
  std::atomic<int> num_made_{0};
};

TEST_F(MctsTest, TheNumberOfWorkersMakesNoDifference) {
  std::string text;
  Outcome outcome;
  for (const int workers : {1, 2, 8, 16}) {
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
    EXPECT_EQ(got.simulations, outcome.simulations);
    EXPECT_EQ(got.states, outcome.states);
    EXPECT_EQ(got.applied_by_rule, outcome.applied_by_rule);
    ASSERT_EQ(got.improvements.size(), outcome.improvements.size());
    for (size_t i = 0; i < got.improvements.size(); ++i) {
      EXPECT_EQ(got.improvements[i].simulations, outcome.improvements[i].simulations);
      EXPECT_EQ(got.improvements[i].cost, outcome.improvements[i].cost);
    }
  }
}

TEST_F(MctsTest, IsNeverWorseThanSaturationWithTheSameLimits) {
  for (int seed = 0; seed < 3; ++seed) {
    term_ = testing::ReadRewritingFile(absl::StrCat("geb/math_d7_s", seed, ".txt"));
    const auto saturated = *Make();
    Rewriter rewriter(&saturated->graph(), saturated->rules());
    ASSERT_TRUE(Saturate(rewriter, task_.limits, {}, {}).ok());
    const auto searched = *Make();
    const Outcome outcome = Run(*searched);
    EXPECT_LE(searched->Cost(), saturated->Cost());
    EXPECT_EQ(searched->Cost(), outcome.improvements.back().cost);
  }
}

TEST_F(MctsTest, EndsAtOnceWhereAllThereIsCanBeHad) {
  rules_ = "comm: (+ ?a ?b) => (+ ?b ?a)\nzero: (+ ?a 0) => ?a";
  term_ = "(+ 0 (+ 0 a))";
  const auto workspace = *Make();
  const Outcome outcome = Run(*workspace);
  EXPECT_EQ(outcome.reason, StopReason::kSaturated);
  EXPECT_EQ(workspace->Cost(), 1);
  EXPECT_EQ(workspace->BestTerm(), "a");
  EXPECT_GT(outcome.applied_by_rule[0] + outcome.applied_by_rule[1], 0);
}

TEST_F(MctsTest, NothingToDoIsSaturated) {
  rules_ = "comm: (+ ?a ?b) => (+ ?b ?a)";
  term_ = "a";
  const Outcome outcome = Run(**Make());
  EXPECT_EQ(outcome.reason, StopReason::kSaturated);
  EXPECT_EQ(outcome.simulations, 0);
}

class CountdownClock : public Clock {
 public:
  explicit CountdownClock(int64_t looks) : looks_(looks) {}
  int64_t NowNs() const override { return looks_.fetch_sub(1) > 0 ? 0 : 1'000'000'000'000; }
  int64_t UnixMs() const override { return 0; }

 private:
  mutable std::atomic<int64_t> looks_;
};

// Whenever time is up: a state that was seen, clean and without marks.
TEST_F(MctsTest, TimeMayBeUpAtAnyMoment) {
  task_.limits.max_simulations = 1'000'000;
  task_.workers = 2;
  const double start = (*Make())->Cost();
  for (int64_t looks = 1; looks < 20'000; looks = looks * 3 / 2 + 1) {
    SCOPED_TRACE(looks);
    const CountdownClock clock(looks);
    task_.stop = StopCondition(nullptr, clock, 1'000'000'000);
    const auto workspace = *Make();
    const Outcome outcome = Run(*workspace);
    EXPECT_EQ(outcome.reason, StopReason::kDeadline);
    EXPECT_LE(workspace->Cost(), start);
    EXPECT_EQ(workspace->Cost(), outcome.improvements.back().cost);
  }
}

TEST_F(MctsTest, AWorkerThatCannotBeginIsAnError) {
  task_.workers = 2;
  task_.make_workspace = [] { return absl::InternalError("no room"); };
  const auto workspace = *Make();
  const auto outcome = FindStrategy("mcts")->Run(*workspace, task_);
  EXPECT_EQ(outcome.status().message(), "no room");
}

TEST_F(MctsTest, AWrongRuleIsAnError) {
  rules_ = "twice: (f ?x) => (+ ?x ?x)\nwrong: (f ?x) => 5";
  term_ = "(f 1)";
  const auto workspace = *Make();
  const auto outcome = FindStrategy("mcts")->Run(*workspace, task_);
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace quotient::search
