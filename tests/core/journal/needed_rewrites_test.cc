#include "core/journal/needed_rewrites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

// Whoever derives a journal then does not call it a defect.
TEST(NeededRewritesLimitTest, AMatchThatWasNotLookedForToTheEndIsACut) {
  constexpr int kOthers = 60;
  std::string text = "graph g {\n  input x: float32[2]\n";
  std::string outputs = "b";
  for (int i = 0; i < kOthers; ++i) {
    absl::StrAppend(&text, "  input y", i, ": float32[2]\n  c", i, " = Neg(y", i, ")\n  d", i,
                    " = Neg(c", i, ")\n");
    absl::StrAppend(&outputs, ", d", i);
  }
  absl::StrAppend(&text, "  a = Neg(x)\n  b = Abs(a)\n  output ", outputs, "\n}");
  RecordedSearch search(text,
                        "neg-neg: Neg(Neg(?x)) => ?x\n"
                        "abs-neg: Abs(Neg(?x)) => Abs(?x)\n"
                        "abs-max: Abs(?x) => Max(?x, Neg(?x))\n");
  for (const egraph::Match& match : search.MatchesOf("neg-neg")) search.Apply("neg-neg", match);
  ASSERT_TRUE(search.Apply("abs-neg"));
  for (const egraph::Match& match : search.MatchesOf("abs-max")) {
    if (match.classes[1] == search.egraph().class_of(search.ENodeOf("x"))) {
      search.Apply("abs-max", match);
    }
  }
  const Selected selected = search.selected();
  for (const int others : {3, kOthers}) {
    StepBudget budget{StopCondition()};
    ASSERT_OK_AND_ASSIGN(const auto history,
                         SearchHistory::Make(selected, search.graph(), search.settings(), &budget));
    ASSERT_EQ(history->num_rewrites(), kOthers + 2);
    ASSERT_OK_AND_ASSIGN(const auto needed,
                         NeededRewrites::Begin(*history, search.graph(), search.graph(),
                                               search.settings(), &budget));
    std::vector<uint32_t> numbers(others);
    std::iota(numbers.begin(), numbers.end(), 0u);
    numbers.push_back(kOthers + 1);  // Without the one that it rests on.
    EXPECT_THAT(needed->Make(numbers).value(), ElementsAre(kOthers + 1));
    EXPECT_EQ(budget.was_cut(), others == kOthers);
  }
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
