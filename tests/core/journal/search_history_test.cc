#include "core/journal/search_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/base/reason.h"
#include "tests/core/journal/recorded_search.h"
#include "tests/support/status_matchers.h"

namespace quotient::journal {
namespace {

using egraph::ENodeId;
using egraph::Match;
using quotient::testing::HasReason;
using ::testing::ElementsAre;

// abs-neg makes Abs(x), of which abs-max makes something more. neg-neg has nothing to do with them.
constexpr char kGraph[] = R"(graph g {
  input x: float32[2,4]
  input y: float32[2,4]
  a = Neg(x)
  b = Abs(a)
  c = Neg(y)
  d = Neg(c)
  output b, d
})";
constexpr char kRules[] = R"(
neg-neg: Neg(Neg(?x)) => ?x
abs-neg: Abs(Neg(?x)) => Abs(?x)
abs-max: Abs(?x) => Max(?x, Neg(?x))
)";

class SearchHistoryTest : public ::testing::Test {
 protected:
  // Rewrite 0 is neg-neg, 1 is abs-neg, and 2 is abs-max of Abs(x).
  void SetUp() override {
    ASSERT_TRUE(search_.Apply("neg-neg"));
    ASSERT_TRUE(search_.Apply("abs-neg"));
    const ENodeId x = search_.ENodeOf("x");
    for (const Match& match : search_.MatchesOf("abs-max")) {
      if (match.classes[1] == search_.egraph().class_of(x)) search_.Apply("abs-max", match);
    }
    ASSERT_OK_AND_ASSIGN(
        history_, SearchHistory::Make(selected_, search_.graph(), search_.settings(), &budget_));
  }
  std::vector<uint32_t> RewritesForLastENode() {
    const ENodeId last(history_->replay().graph().enode_bound() - 1);
    const Equality itself(last, last);
    return history_->reasons().RewritesFor(std::span(&itself, 1), &budget_);
  }

  StepBudget budget_{StopCondition()};
  RecordedSearch search_{kGraph, kRules};
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
