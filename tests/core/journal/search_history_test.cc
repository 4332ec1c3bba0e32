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

// Each of the rewrites before the last one is one that a wider dependence takes in.
TEST(DependenceTest, EachStepTakesInMoreOfWhatWasChangedBefore) {
  RecordedSearch search(R"(graph g {
    input x: float32[2]
    input y: float32[2]
    m = Neg(x)
    b = Abs(x)
    n = Neg(b)
    c = Neg(y)
    d = Neg(c)
    output m, n, d
  })",
                        R"(
neg-neg: Neg(Neg(?x)) => ?x
neg-abs: Neg(Abs(?x)) => Min(?x, Neg(?x))
abs-neg: Abs(?x) => Abs(Neg(?x))
abs-max: Abs(?x) => Max(?x, Neg(?x))
)");
  ASSERT_TRUE(search.Apply("neg-neg"));  // In other classes.
  ASSERT_TRUE(search.Apply("neg-abs"));  // In the class of n, which reads that of b.
  ASSERT_TRUE(search.Apply("abs-neg"));  // In the class of b.
  for (const egraph::Match& match : search.MatchesOf("abs-max")) {
    if (match.classes[1] == search.egraph().class_of(search.ENodeOf("x"))) {
      ASSERT_TRUE(search.Apply("abs-max", match));
    }
  }
  const Selected selected = search.selected();
  StepBudget budget{StopCondition()};
  ASSERT_OK_AND_ASSIGN(const auto history,
                       SearchHistory::Make(selected, search.graph(), search.settings(), &budget));
  ASSERT_EQ(history->num_rewrites(), 4u);
  const ENodeId last(history->replay().graph().enode_bound() - 1);
  const Equality itself(last, last);
  const auto needed = [&](Dependence dependence) {
    history->SetDependence(3, dependence);
    return history->reasons().RewritesFor(std::span(&itself, 1), &budget);
  };
  EXPECT_THAT(needed(Dependence::kPremises), ElementsAre(3));
  EXPECT_THAT(needed(Dependence::kClasses), ElementsAre(2, 3));
  EXPECT_THAT(needed(Dependence::kNeighbourClasses), ElementsAre(1, 2, 3));
  EXPECT_THAT(needed(Dependence::kAllEarlier), ElementsAre(0, 1, 2, 3));
}

TEST_F(SearchHistoryTest, EndsWhenItsBudgetIsOver) {
  StepBudget few(StopCondition(), budget_.taken() / 2);
  EXPECT_THAT(SearchHistory::Make(selected_, search_.graph(), search_.settings(), &few).status(),
              HasReason(Reason::kRunBudget));
}

}  // namespace
}  // namespace quotient::journal
