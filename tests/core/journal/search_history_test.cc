#include "core/journal/search_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/base/reason.h"
#include "tests/core/journal/three_rewrites.h"
#include "tests/support/status_matchers.h"

namespace quotient::journal {
namespace {

using egraph::ENodeId;
using quotient::testing::HasReason;
using ::testing::ElementsAre;

class SearchHistoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        history_, SearchHistory::Make(selected_, search_.graph(), search_.settings(), &budget_));
  }
  std::vector<uint32_t> RewritesForLastENode() {
    const ENodeId last(history_->replay().graph().enode_bound() - 1);
    const Equality itself(last, last);
    return history_->reasons().RewritesFor(std::span(&itself, 1), &budget_);
  }

  StepBudget budget_{StopCondition()};
  ThreeRewrites search_;
  const Selected selected_ = search_.selected();
  std::unique_ptr<SearchHistory> history_;
};

TEST_F(SearchHistoryTest, RewritesAreRepeatedInOrder) {
  std::vector<std::string> rules;
  for (uint32_t i = 0; i < history_->num_rewrites(); ++i) {
    EXPECT_TRUE(history_->rewrite(i).matches);
    rules.push_back(history_->replay().rules()[history_->rewrite(i).rule]->name());
  }
  EXPECT_THAT(rules, ElementsAre("neg-neg", "abs-neg", "abs-max"));
}

TEST_F(SearchHistoryTest, AllENodesOfTheSearchAreThere) {
  EXPECT_EQ(history_->replay().graph().enode_bound(), search_.egraph().enode_bound());
  for (uint32_t i = 0; i < search_.egraph().enode_bound(); ++i) {
    if (search_.egraph().live(ENodeId(i))) EXPECT_OK(history_->FindLive(ENodeId(i)).status());
  }
}

TEST_F(SearchHistoryTest, ARewriteRestsOnItsPremises) {
  EXPECT_THAT(RewritesForLastENode(), ElementsAre(1, 2));
}

TEST_F(SearchHistoryTest, ARewriteCanBeTakenToRestOnMore) {
  history_->SetDependence(2, Dependence::kClasses);
  EXPECT_THAT(RewritesForLastENode(), ElementsAre(1, 2)) << "those of its classes";
  history_->SetDependence(2, Dependence::kAllEarlier);
  EXPECT_THAT(RewritesForLastENode(), ElementsAre(0, 1, 2));
  history_->SetDependence(2, Dependence::kPremises);
  EXPECT_THAT(RewritesForLastENode(), ElementsAre(1, 2));
}

TEST_F(SearchHistoryTest, EndsWhenItsBudgetIsOver) {
  StepBudget few(StopCondition(), budget_.taken() / 2);
  EXPECT_THAT(SearchHistory::Make(selected_, search_.graph(), search_.settings(), &few).status(),
              HasReason(Reason::kRunBudget));
}

}  // namespace
}  // namespace quotient::journal
