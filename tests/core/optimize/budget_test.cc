#include "core/optimize/budget.h"

#include <gtest/gtest.h>

#include "tests/support/fake_backend.h"

namespace quotient::optimize {
namespace {

class BudgetTest : public ::testing::Test {
 protected:
  Budget Make() const { return Budget(options_, clock_, StopCondition(&token_)); }
  void Pass(double seconds) { clock_.Advance(seconds * 1e6); }

  kernels::fake::FakeClock clock_;
  CancelToken token_;
  Options options_{.budget_seconds = 100};
};

TEST_F(BudgetTest, ASearchGrowsForTwoFifths) {
  const SearchTime time = Make().ForSearch();
  EXPECT_NEAR(time.grow_seconds, 40, 1);
  EXPECT_DOUBLE_EQ(time.seconds, 65);
}

TEST_F(BudgetTest, ALateSearchHasLessTimeButSome) {
  const Budget budget = Make();
  Pass(30);
  EXPECT_DOUBLE_EQ(budget.ForSearch().seconds, 35);
  EXPECT_NEAR(budget.ForSearch().grow_seconds, 0.62 * 35, 1e-9);
  Pass(200);
  EXPECT_DOUBLE_EQ(budget.ForSearch().seconds, 10);
}

TEST_F(BudgetTest, AJobThatIsToFinishGoesOnAsIfItsBudgetHadBeenWhatHasPassed) {
  const Budget budget = Make();
  const StopCondition kernels = budget.ForBaseline({});
  const StopCondition checks = budget.ForChecks(StopCondition(&token_));
  Pass(10);
  EXPECT_EQ(checks.Check(), StopReason::kNone);
  token_.Finish(clock_);
  EXPECT_EQ(checks.Check(), StopReason::kDeadline);
  EXPECT_EQ(kernels.Check(), StopReason::kNone) << "nobody told this one";
  EXPECT_EQ(budget.Left(), 0);
  Pass(5);
  EXPECT_DOUBLE_EQ(budget.ForSearch().seconds, 1) << "a tenth of ten seconds";
  EXPECT_DOUBLE_EQ(budget.ForMeasuring(), 2);
  EXPECT_EQ(budget.ForRescue(StopCondition(&token_)).Check(), StopReason::kDeadline);
  EXPECT_TRUE(budget.IsCut());
  EXPECT_DOUBLE_EQ(budget.Seconds(), 10);
  EXPECT_FALSE(budget.IsExceeded()) << "candidates are not too late by that";
  token_.Finish(clock_);
  EXPECT_DOUBLE_EQ(budget.ForSearch().seconds, 1) << "the first request counts";
}

TEST_F(BudgetTest, AJobThatIsToFinishLateHasTheBudgetThatItHad) {
  const Budget budget = Make();
  Pass(300);
  token_.Finish(clock_);
  EXPECT_DOUBLE_EQ(budget.LeastForMeasuring(), 20);
  EXPECT_FALSE(budget.IsCut());
}

TEST_F(BudgetTest, ASearchMayHaveABudgetOfItsOwn) {
  options_.search_budget_seconds = 80;
  const Budget budget = Make();
  EXPECT_DOUBLE_EQ(budget.ForSearch().seconds, 80);
  EXPECT_DOUBLE_EQ(budget.ForSearch().grow_seconds, 32);
  Pass(50);
  EXPECT_DOUBLE_EQ(budget.ForSearch().seconds, 50) << "the budget bounds that, too";
}

TEST_F(BudgetTest, ASearchLeavesTimeForChecksThatTakeLong) {
  const Budget budget = Make();
  Pass(10);
  EXPECT_DOUBLE_EQ(budget.ForSearch(60).seconds, 55);
  EXPECT_DOUBLE_EQ(budget.ForSearch(80).seconds, 40);
  EXPECT_DOUBLE_EQ(budget.ForSearch(100).seconds, 24);
  EXPECT_DOUBLE_EQ(budget.ForSearch(1000).seconds, 10);
  options_.search_budget_seconds = 80;
  EXPECT_DOUBLE_EQ(Make().ForSearch(100).seconds, 32);
}

// Reading the kernels of a large file takes long, and what it shows is worth nothing unmeasured.
TEST_F(BudgetTest, TheKernelsOfAFileGetTimeEvenIfTheyAreLate) {
  const Budget budget = Make();
  Pass(40);
  const StopCondition late = budget.ForFile({});
  Pass(14);
  EXPECT_FALSE(late.ShouldStop());
  Pass(2);
  EXPECT_TRUE(late.ShouldStop());
}

TEST_F(BudgetTest, QuestionsGetATenthAndTwoSecondsAtMost) {
  const Budget large = Make();
  Pass(90);
  const StopCondition two_seconds = large.ForQuestions({});
  Pass(1.9);
  EXPECT_FALSE(two_seconds.ShouldStop());
  Pass(0.2);
  EXPECT_TRUE(two_seconds.ShouldStop());
  options_.budget_seconds = 5;
  const Budget small = Make();
  const StopCondition a_tenth = small.ForQuestions({});
  Pass(0.4);
  EXPECT_FALSE(a_tenth.ShouldStop());
  Pass(0.2);
  EXPECT_TRUE(a_tenth.ShouldStop());
}

TEST_F(BudgetTest, AJournalGetsStepsByTheOptionsAlone) {
  Budget large = Make();
  const int64_t steps = large.ForJournal({}).steps;
  Pass(150);
  large.FitTo(1e-3);
  token_.Finish(clock_);
  EXPECT_EQ(large.ForJournal(StopCondition(&token_)).steps, steps);
  const auto steps_of = [this](double seconds) {
    options_.budget_seconds = seconds;
    return Make().ForJournal({}).steps;
  };
  EXPECT_EQ(steps_of(1), steps_of(30)) << "those of three seconds at least";
  EXPECT_EQ(steps_of(60), 2 * steps_of(30)) << "those of a tenth";
  EXPECT_EQ(steps_of(600), steps_of(300)) << "those of thirty seconds at most";
}

TEST_F(BudgetTest, AJournalMayTakeLongerThanUsualOnASlowMachine) {
  options_.budget_seconds = 5;
  const Budget budget = Make();
  token_.Finish(clock_);
  const StopCondition twelve_seconds = budget.ForJournal(StopCondition(&token_)).stop;
  Pass(11.9);
  EXPECT_FALSE(twelve_seconds.ShouldStop()) << "a job that is to finish has its journal, too";
  Pass(0.2);
  EXPECT_TRUE(twelve_seconds.ShouldStop());
  token_.Cancel();
  EXPECT_TRUE(budget.ForJournal(StopCondition(&token_)).stop.cancelled());
}

TEST_F(BudgetTest, MeasuringGetsWhatIsLeft) {
  options_.budget_seconds = 20;
  const Budget budget = Make();
  Pass(5);
  EXPECT_DOUBLE_EQ(budget.ForMeasuring(), 15);
  Pass(14);
  EXPECT_DOUBLE_EQ(budget.ForMeasuring(), 4) << "a fifth of the budget at least";
  EXPECT_DOUBLE_EQ(budget.Left(), 1);
  Pass(100);
  EXPECT_DOUBLE_EQ(budget.Left(), 0);
}

TEST_F(BudgetTest, MeasuringIsNeitherTooShortNorTooLong) {
  EXPECT_DOUBLE_EQ(Make().ForMeasuring(), 30);
  options_.budget_seconds = 1;
  EXPECT_DOUBLE_EQ(Make().ForMeasuring(), 2);
}

TEST_F(BudgetTest, AModelGetsWhatItHasUseFor) {
  options_.budget_seconds = 30;
  const auto left = [this](double run_seconds) {
    Budget budget = Make();
    budget.FitTo(run_seconds);
    return budget.Left();
  };
  EXPECT_DOUBLE_EQ(left(0.1), 30);
  EXPECT_DOUBLE_EQ(left(0.01), 15);
  EXPECT_DOUBLE_EQ(left(0.001), 8.5);
  options_.budget_seconds = 5;
  EXPECT_DOUBLE_EQ(left(0.001), 5);
}

TEST_F(BudgetTest, WhoeverGivesMoreThanUsualGetsMore) {
  options_.budget_seconds = 300;
  Budget budget = Make();
  Pass(1);
  budget.FitTo(0.001);
  EXPECT_DOUBLE_EQ(budget.Left(), 84);
}

TEST_F(BudgetTest, ABudgetOfTheSearchIsTakenAtItsWord) {
  options_.search_budget_seconds = 80;
  Budget budget = Make();
  budget.FitTo(0.001);
  EXPECT_DOUBLE_EQ(budget.Left(), 100);
  EXPECT_DOUBLE_EQ(budget.ForSearch().seconds, 80);
}

TEST_F(BudgetTest, PhasesEndInTurn) {
  const Budget budget = Make();
  const StopCondition never;
  const StopCondition baseline = budget.ForBaseline(never), checks = budget.ForChecks(never);
  Pass(49);
  EXPECT_FALSE(baseline.ShouldStop());
  Pass(2);
  EXPECT_TRUE(baseline.ShouldStop());
  EXPECT_FALSE(checks.ShouldStop());
  Pass(30);
  EXPECT_TRUE(checks.ShouldStop());
  EXPECT_TRUE(budget.ForChecks(never).ShouldStop()) << "whenever it is asked";
  EXPECT_FALSE(budget.ForRescue(never).ShouldStop());
}

}  // namespace
}  // namespace quotient::optimize
