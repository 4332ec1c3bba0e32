#include "core/journal/step_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/countdown_clock.h"
#include "tests/support/status_matchers.h"

namespace quotient::journal {
namespace {

using quotient::testing::HasReason;
using ::testing::HasSubstr;

TEST(StepBudgetTest, EndsWhenAllStepsAreTaken) {
  StepBudget budget(StopCondition(), 10);
  budget.Take(10);
  EXPECT_FALSE(budget.IsOver());
  EXPECT_OK(budget.Check());
  budget.Take(1);
  EXPECT_TRUE(budget.IsOver());
  EXPECT_THAT(budget.Check(), HasReason(Reason::kRunBudget, HasSubstr("10 steps")));
  EXPECT_EQ(budget.taken(), 11);
}

TEST(StepBudgetTest, EndsWhenItsConditionSaysSo) {
  CancelToken token;
  StepBudget budget{StopCondition(&token)};
  EXPECT_FALSE(budget.IsOver());
  token.Cancel();
  EXPECT_FALSE(budget.IsOver()) << "the condition is not asked at each step";
  budget.Take(100'000);
  EXPECT_TRUE(budget.IsOver());
  EXPECT_THAT(budget.Check(), HasReason(Reason::kCancelled));
}

TEST(StepBudgetTest, ACheckAsksTheConditionAtOnce) {
  const testing::CountdownClock clock(1);
  StepBudget budget(clock.Stop());
  EXPECT_OK(budget.Check());
  EXPECT_THAT(budget.Check(), HasReason(Reason::kRunBudget));
  EXPECT_TRUE(budget.IsOver());
}

}  // namespace
}  // namespace quotient::journal
