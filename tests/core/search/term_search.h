#pragma once

// TermSearchTest: the base of tests of strategies, which search on a term of the domain "math".

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "core/search/strategy.h"
#include "tests/support/countdown_clock.h"
#include "tests/support/egraph/graph_text.h"
#include "tests/support/egraph/rewriting_data.h"
#include "tests/support/egraph/term_workspace.h"
#include "tests/support/ticking_clock.h"

namespace quotient::search {

// The default term is so large that a search never exhausts its e-graph.
class TermSearchTest : public ::testing::Test {
 protected:
  using TermWorkspace = testing::TermWorkspace;

  TermSearchTest() {
    task_.limits.max_enodes = 600;
    task_.limits.max_matches_per_rule = 100;
    task_.limits.max_simulations = 300;
  }

  absl::StatusOr<std::unique_ptr<TermWorkspace>> Make() const {
    return TermWorkspace::Make(testing::MathAlgebra(), rules_, "rules", term_);
  }
  Outcome Run(const Strategy& strategy, TermWorkspace& workspace) {
    absl::StatusOr<Outcome> outcome = strategy.Run(workspace, task_);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(workspace.graph().num_marks(), 0u);
    EXPECT_FALSE(workspace.graph().dirty());
    return *std::move(outcome);
  }
  // Expects that a search whose time runs out at any moment ends in a state that it has seen, with
  // a correct outcome. The limits must be so high that none is reached before the largest number of
  // readings of the clock.
  void ExpectTimeMayBeUpAtAnyMoment(const Strategy& strategy) {
    const double start = (*Make())->Cost({});
    for (int64_t looks = 1; looks < 20'000; looks = looks * 3 / 2 + 1) {
      SCOPED_TRACE(looks);
      const testing::CountdownClock clock(looks);
      task_.stop = clock.Stop();
      const auto workspace = *Make();
      const Outcome outcome = Run(strategy, *workspace);
      EXPECT_EQ(outcome.reason, StopReason::kDeadline);
      EXPECT_LE(workspace->Cost({}), start);
      EXPECT_EQ(workspace->Cost({}), outcome.improvements.back().cost);
    }
  }
  void ExpectAWrongRuleIsAnError(const Strategy& strategy) {
    rules_ = "twice: (f ?x) => (+ ?x ?x)\nwrong: (f ?x) => 5";
    term_ = "(f 1)";
    const auto workspace = *Make();
    EXPECT_EQ(strategy.Run(*workspace, task_).status().code(), absl::StatusCode::kInternal);
  }

  std::string rules_ = testing::ReadRewritingFile("geb/math-rules.txt");
  std::string term_ = testing::ReadRewritingFile("geb/math_d7_s1.txt");
  const testing::TickingClock clock_{/*step_ns=*/1'000};
  Task task_{.clock = clock_};
};

// Expects equal outcomes, except for times.
inline void ExpectSameOutcome(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_EQ(a.simulations, b.simulations);
  EXPECT_EQ(a.states, b.states);
  EXPECT_EQ(a.by_rule, b.by_rule);
  ASSERT_EQ(a.improvements.size(), b.improvements.size());
  for (size_t i = 0; i < a.improvements.size(); ++i) {
    EXPECT_EQ(a.improvements[i].simulations, b.improvements[i].simulations);
    EXPECT_EQ(a.improvements[i].cost, b.improvements[i].cost);
  }
}

}  // namespace quotient::search
