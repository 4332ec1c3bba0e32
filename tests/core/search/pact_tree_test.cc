#include "core/search/pact_tree.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace quotient::search {
namespace {

using Descent = PactTree::Descent;

constexpr double kGamma = 0.99;

// A tree of two rules; the test decides how the coin falls.
class PactTreeTest : public ::testing::Test {
 protected:
  explicit PactTreeTest(double coin = 1) { parameters_.expand_coin = coin; }

  // Expects Select to end as given, and returns the path that it found.
  PactTree::Path Select(Descent expected) {
    PactTree::Path path;
    EXPECT_EQ(tree_.Select(&path), expected);
    return path;
  }
  const PactTree::Child& RootChild(uint16_t rule) { return tree_.child(kRoot, rule); }

  const PactTree::NodeId kRoot{0};
  const std::vector<bool> open_{true, true};
  const std::vector<bool> closed_{false, false};
  PactParameters parameters_;
  Rng rng_{7};
  PactTree tree_{&parameters_, &rng_};
};

TEST_F(PactTreeTest, ScoreIsWuUct) {
  const PactTree::Child child = {.dispatched = 4, .completed = 2, .returns = 3};
  // 3 / 2 + 2 sqrt(2 ln 9 / 4)
  EXPECT_NEAR(PactTree::Score(child, 9, 2), 3.59629, 1e-5);
  EXPECT_EQ(PactTree::Score(child, 9, 0), 1.5);
}

TEST_F(PactTreeTest, RewardsAreDiscountedOnTheWayUp) {
  tree_.Reset({.cost = 20}, {true, false});
  const PactTree::Path first = Select(Descent::kExpand);
  EXPECT_EQ(first.rules, std::vector<uint16_t>{0});
  EXPECT_EQ(RootChild(0).dispatched, 1);
  EXPECT_EQ(RootChild(0).completed, 0);
  tree_.Expand(first, {.cost = 16}, 4, {false, true});
  tree_.Complete(first, 10);
  EXPECT_EQ(RootChild(0).completed, 1);
  EXPECT_DOUBLE_EQ(RootChild(0).returns, 4 + kGamma * 10);

  const PactTree::Path second = Select(Descent::kExpand);
  EXPECT_EQ(second.rules, (std::vector<uint16_t>{0, 1}));
  EXPECT_EQ(tree_.state(second.nodes[1]).cost, 16);
  tree_.Expand(second, {.cost = 15, .done = true}, 1, closed_);
  tree_.Complete(second, 0);
  EXPECT_DOUBLE_EQ(tree_.child(second.nodes[1], 1).returns, 1);
  EXPECT_DOUBLE_EQ(RootChild(0).returns, 4 + kGamma * 10 + 4 + kGamma * 1);

  // A state that is done may be visited again. The visit returns the rewards on the path only.
  const PactTree::Path third = Select(Descent::kDone);
  EXPECT_EQ(third.rules, second.rules);
  tree_.Complete(third, 0);
  EXPECT_EQ(RootChild(0).dispatched, 3);
  EXPECT_EQ(RootChild(0).completed, 3);
  EXPECT_DOUBLE_EQ(RootChild(0).returns, 3 * 4 + kGamma * (10 + 1 + 1));
}

TEST_F(PactTreeTest, TheRootTriesAllItsRulesFirst) {
  parameters_.expand_coin = 0;
  tree_.Reset({.cost = 20}, open_);
  std::set<uint16_t> tried;
  for (int i = 0; i < 2; ++i) {
    const PactTree::Path path = Select(Descent::kExpand);
    ASSERT_EQ(path.rules.size(), 1u);
    tried.insert(path.rules[0]);
    tree_.Expand(path, {.cost = 20}, 0, open_);
    tree_.Complete(path, path.rules[0] == 1 ? 3 : 0);
  }
  EXPECT_EQ(tried.size(), 2u);
  EXPECT_EQ(tree_.BestRule(), 1);
}

TEST_F(PactTreeTest, BelowTheCoinSaysWhetherToTryOrToGoOn) {
  for (const bool tries : {false, true}) {
    parameters_.expand_coin = tries ? 1 : 0;
    tree_.Reset({.cost = 20}, {true, false});
    for (size_t depth = 1; depth <= 2; ++depth) {
      const PactTree::Path path = Select(Descent::kExpand);
      EXPECT_EQ(path.rules.size(), depth);  // a node of which nothing is known is always tried
      tree_.Expand(path, {.cost = 20}, 0, open_);
      tree_.Complete(path, 0);
    }
    EXPECT_EQ(Select(Descent::kExpand).rules.size(), tries ? 2u : 3u);
  }
}

TEST_F(PactTreeTest, WhatChangesNothingIsNeitherFollowedNorChosen) {
  tree_.Reset({.cost = 20}, open_);
  for (int i = 0; i < 2; ++i) {
    const PactTree::Path path = Select(Descent::kExpand);
    const bool changed = path.rules[0] == 0;
    tree_.Expand(path, {.cost = 20, .changed = changed}, 0, changed ? open_ : closed_);
    tree_.Complete(path, changed ? 1 : 9);
  }
  EXPECT_TRUE(RootChild(1).saturated);
  EXPECT_EQ(tree_.BestRule(), 0);
  EXPECT_EQ(Select(Descent::kExpand).rules[0], 0);
}

TEST_F(PactTreeTest, NothingToTryEndsTheSearchForACommit) {
  tree_.Reset({.cost = 20}, closed_);
  Select(Descent::kNothing);
  EXPECT_FALSE(tree_.BestRule().has_value());

  // The same if the node that has nothing to try is below the root.
  tree_.Reset({.cost = 20}, {true, false});
  const PactTree::Path path = Select(Descent::kExpand);
  tree_.Expand(path, {.cost = 20}, 0, closed_);
  tree_.Complete(path, 0);
  Select(Descent::kNothing);
  EXPECT_EQ(RootChild(0).dispatched, 1);
  EXPECT_EQ(tree_.BestRule(), 0);
}

}  // namespace
}  // namespace quotient::search
