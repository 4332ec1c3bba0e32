#include "core/journal/needed_rewrites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/core/journal/three_rewrites.h"
#include "tests/support/status_matchers.h"

namespace quotient::journal {
namespace {

using egraph::ENodeId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NeededRewritesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        history_, SearchHistory::Make(selected_, search_.graph(), search_.settings(), &budget_));
    ASSERT_EQ(history_->num_rewrites(), 3u);
    ASSERT_OK_AND_ASSIGN(needed_, NeededRewrites::Begin(*history_, search_.graph(), search_.graph(),
                                                        search_.settings(), &budget_));
  }

  StepBudget budget_{StopCondition()};
  ThreeRewrites search_;
  const Selected selected_ = search_.selected();
  std::unique_ptr<SearchHistory> history_;
  std::unique_ptr<NeededRewrites> needed_;
};

TEST_F(NeededRewritesTest, RewritesAreMadeWithoutThoseThatTheyDoNotNeed) {
  EXPECT_THAT(needed_->Make(std::vector<uint32_t>{1, 2}).value(), IsEmpty());
  const ENodeId last(history_->replay().graph().enode_bound() - 1);
  EXPECT_OK(needed_->FindLive(last).status());
  const std::vector<Rewrite> rewrites = needed_->TakeRewrites();
  ASSERT_EQ(rewrites.size(), 2u);
  EXPECT_EQ(rewrites[0].rule, "abs-neg");
  EXPECT_EQ(rewrites[0].found_after, 0u);
  EXPECT_EQ(rewrites[1].rule, "abs-max");
  EXPECT_EQ(rewrites[1].found_after, 1u) << "it matches what the other one has made";
}

TEST_F(NeededRewritesTest, ThoseThatDoNotMatchAreReturned) {
  EXPECT_THAT(needed_->Make(std::vector<uint32_t>{0, 2}).value(), ElementsAre(2));
  EXPECT_EQ(needed_->TakeRewrites().size(), 1u);
}

// It is independent of the others, so it matches from the beginning.
TEST_F(NeededRewritesTest, ARewriteIsFoundAsSoonAsWhatItRestsOnIsThere) {
  ASSERT_TRUE(needed_->Make(std::vector<uint32_t>{0, 1, 2}).value().empty());
  const std::vector<Rewrite> rewrites = needed_->TakeRewrites();
  ASSERT_EQ(rewrites.size(), 3u);
  EXPECT_EQ(rewrites[1].found_after, 0u);
  EXPECT_EQ(rewrites[2].found_after, 2u);
}

}  // namespace
}  // namespace quotient::journal
