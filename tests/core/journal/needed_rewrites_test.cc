#include "core/journal/needed_rewrites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/core/journal/recorded_search.h"
#include "tests/support/status_matchers.h"

namespace quotient::journal {
namespace {

using egraph::ENodeId;
using egraph::Match;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

class NeededRewritesTest : public ::testing::Test {
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
    ASSERT_EQ(history_->num_rewrites(), 3u);
    ASSERT_OK_AND_ASSIGN(needed_, NeededRewrites::Begin(*history_, search_.graph(), search_.graph(),
                                                        search_.settings(), &budget_));
  }

  StepBudget budget_{StopCondition()};
  RecordedSearch search_{kGraph, kRules};
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
