#include "core/search/search_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/rng.h"
#include "tests/core/search/search_world.h"
#include "tests/support/search_tree_peer.h"

namespace quotient::search {
namespace {

TEST(SearchTree, SeesEveryStateOnceAndThenIsExhausted) {
  World world(5, {{0b10110, 3}});
  while (world.Simulate()) {
  }
  EXPECT_TRUE(world.tree().exhausted());
  // There are 326 paths but only 32 states. The last state has no actions and is never opened, so
  // each of the five edges to it has a node of its own.
  EXPECT_EQ(world.tree().num_states(), 31u + 5);
  EXPECT_EQ(world.num_tried(), 5 * 16);  // edges of the graph of states
  EXPECT_EQ(world.tree().best_cost(), 3);
}

TEST(SearchTree, GoesOnWhereSomethingWasGained) {
  // Among 2^16 states, those that lead to the best one are a little better than the others.
  std::map<uint64_t, double> cost;
  for (const uint64_t rules : {0b1, 0b11, 0b111, 0b1111, 0b11111}) {
    cost[rules] = 10 - std::popcount(rules);
  }
  World world(16, cost);
  while (world.tree().best_cost() > 5 && world.Simulate()) {
  }
  EXPECT_EQ(world.tree().best_cost(), 5);
  EXPECT_LE(world.num_tried(), 500);
}

TEST(SearchTree, DoesNotTryWhatIsUnderWay) {
  World world(20, {});
  std::vector<SearchTree::Leaf> leaves;
  for (SearchTree::Leaf leaf; world.tree().Select(&leaf);) leaves.push_back(leaf);
  uint64_t tried = 0;
  for (const SearchTree::Leaf& leaf : leaves) {
    EXPECT_TRUE(leaf.path.empty());
    for (const Action action : leaf.tries) {
      EXPECT_EQ(tried >> action.rule & 1, 0u);
      tried |= uint64_t{1} << action.rule;
    }
  }
  EXPECT_EQ(tried, (uint64_t{1} << 20) - 1);
  EXPECT_FALSE(world.tree().exhausted());
  world.Observe(leaves[0]);
  SearchTree::Leaf leaf;
  EXPECT_TRUE(world.tree().Select(&leaf));
  EXPECT_EQ(leaf.path.size(), 1u);
  EXPECT_EQ(leaf.nodes.size(), 2u);
  EXPECT_TRUE(leaf.priors.has_value());
}

// Two nodes of one state are opened at the same time, so neither is known when the other is opened.
TEST(SearchTree, OfOneStateThatIsOpenedTwiceOneNodeStays) {
  World world(3, {});
  world.Simulate();  // the states of one rule
  std::vector<SearchTree::Leaf> leaves;
  for (SearchTree::Leaf leaf; world.tree().Select(&leaf);) leaves.push_back(leaf);
  for (const SearchTree::Leaf& leaf : leaves) world.Observe(leaf);
  leaves.clear();
  // The states of two rules, each reached by two paths.
  for (SearchTree::Leaf leaf; world.tree().Select(&leaf);) leaves.push_back(leaf);
  ASSERT_EQ(leaves.size(), 6u);
  const size_t before = world.tree().num_states();
  for (const SearchTree::Leaf& leaf : leaves) world.Observe(leaf);
  // Three nodes are duplicates. Each of the other three gets a node for the last state.
  EXPECT_EQ(world.tree().num_states(), before - 3 + 3);
  while (world.Simulate()) {
  }
  EXPECT_TRUE(world.tree().exhausted());
}

// Growing to the limit leads to states of 100 e-nodes, each of 64 places to states of 10.
class GrowingWorld {
 public:
  GrowingWorld() : priors_(1, 0), tree_(&priors_) {
    SearchTree::Opened opened = {.hash = 1};
    for (uint32_t i = 0; i < 64; ++i) opened.actions.push_back({Action::Kind::kPlace, 0, i});
    opened.actions.push_back(kGrow);
    tree_.Reset({.cost = 10, .enodes = 10}, opened);
  }
  static constexpr Action kGrow = {Action::Kind::kGrow, 0, Action::kToTheLimit};

  // Returns the actions that are tried next. They lead to saturated states.
  std::vector<Action> Next() {
    SearchTree::Leaf leaf;
    if (!tree_.Select(&leaf)) return {};
    std::vector<State> states;
    for (const Action action : leaf.tries) {
      states.push_back({.cost = 10, .enodes = action == kGrow ? 100 : 10, .saturated = true});
    }
    tree_.Observe(leaf, {}, states);
    return leaf.tries;
  }
  SearchTree& tree() { return tree_; }

 private:
  Priors priors_;
  SearchTree tree_;
};

TEST(SearchTree, GrowsToTheLimitWhenOthersHaveTakenAsMuch) {
  GrowingWorld world;
  world.tree().CountGrown({.enodes = 200});
  int64_t others = 0;
  for (std::vector<Action> tries = world.Next(); !tries.empty(); tries = world.Next()) {
    if (std::ranges::find(tries, GrowingWorld::kGrow) != tries.end()) break;
    others += static_cast<int64_t>(tries.size());
  }
  EXPECT_GT(10 * others, 200);
  EXPECT_LT(others, 64);
  EXPECT_FALSE(world.tree().exhausted());
}

TEST(SearchTree, GrowsToTheLimitWhenNothingElseIsLeft) {
  GrowingWorld world;
  world.tree().CountGrown({.enodes = 1'000'000});
  size_t tried = 0;
  std::vector<Action> last;
  for (std::vector<Action> tries = world.Next(); !tries.empty(); tries = world.Next()) {
    tried += tries.size();
    last = tries;
  }
  EXPECT_EQ(tried, 65u);
  EXPECT_EQ(last, std::vector{GrowingWorld::kGrow});
  EXPECT_TRUE(world.tree().exhausted());
}

TEST(SearchTree, WaitsForWhatIsUnderWayBeforeItGrowsOutOfTurn) {
  GrowingWorld world;
  world.tree().CountGrown({.enodes = 1'000'000});
  std::vector<SearchTree::Leaf> leaves;
  for (SearchTree::Leaf leaf; world.tree().Select(&leaf);) leaves.push_back(leaf);
  for (const SearchTree::Leaf& leaf : leaves) {
    EXPECT_EQ(std::ranges::find(leaf.tries, GrowingWorld::kGrow), leaf.tries.end());
  }
  EXPECT_FALSE(leaves.empty());
}

TEST(SearchTree, WhatChangesNothingIsNotTriedAgain) {
  Priors priors(2, 0);
  SearchTree tree(&priors);
  const State root = {.cost = 7};
  tree.Reset(root, {.hash = 1, .actions = {Rule(0), Rule(1)}});
  SearchTree::Leaf leaf;
  ASSERT_TRUE(tree.Select(&leaf));
  ASSERT_EQ(leaf.tries.size(), 2u);
  State same = root;
  same.changed = false;
  tree.Observe(leaf, {}, std::vector<State>{same, same});
  EXPECT_TRUE(tree.exhausted());
  EXPECT_FALSE(tree.Select(&leaf));
  EXPECT_EQ(tree.num_states(), 1u);
}

std::map<uint64_t, double> RandomCosts(int num_rules, Rng& rng) {
  std::map<uint64_t, double> costs = {{0, 10}};
  for (uint64_t rules = 1; rules < uint64_t{1} << num_rules; ++rules) {
    costs[rules] = rng.Uniform(5, 10);
  }
  return costs;
}

// One tree is grown at old costs and then repriced, another one is grown at the new costs. Once
// both have seen all states, their best costs are equal.
TEST(SearchTree, RepricedIsAsIfItHadBeenGrownByTheNewCosts) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    constexpr int kRules = 6;
    World repriced(kRules, RandomCosts(kRules, rng));
    const std::map<uint64_t, double> costs = RandomCosts(kRules, rng);
    World grown(kRules, costs);
    while (repriced.Simulate()) {
    }
    while (grown.Simulate()) {
    }
    repriced.Reprice(costs);
    EXPECT_EQ(repriced.tree().best_cost(), grown.tree().best_cost());
    for (uint64_t rules = 0; rules + 1 < uint64_t{1} << kRules; ++rules) {
      double best = 10;  // of the states with all these rules
      for (const auto& [state, cost] : costs) {
        if ((state & rules) == rules) best = std::min(best, cost);
      }
      EXPECT_EQ(SearchTreePeer::BestBelow(repriced.tree(), rules + 1), best);
    }
    for (uint16_t rule = 0; rule < kRules; ++rule) {
      EXPECT_NEAR(repriced.Expect(rule), grown.Expect(rule), 1e-9);
    }
  }
}

// Most states can be reached by several paths, and a simulation takes one of them. The best costs
// of states on the other paths must be updated, too.
TEST(SearchTree, WhatIsFoundIsKnownWhereverItCanBeReachedFrom) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    constexpr int kRules = 6;
    World world(kRules, RandomCosts(kRules, rng));
    while (world.Simulate()) {
      std::map<uint64_t, double> best;
      for (uint64_t rules = 0; rules < uint64_t{1} << kRules; ++rules) {
        if (world.IsOpen(rules)) best[rules] = SearchTreePeer::BestBelow(world.tree(), rules + 1);
      }
      world.Recompute();
      for (const auto& [rules, known] : best) {
        ASSERT_EQ(known, SearchTreePeer::BestBelow(world.tree(), rules + 1)) << rules;
      }
    }
  }
}

// A tree whose root has two actions that have been tried, with more to try below both.
class TwoWays {
 public:
  // The drops are added to the priors of the two actions, which begin at 0.01.
  TwoWays(double first_drop, double second_drop) : priors_(3, 0), tree_(&priors_) {
    priors_.Correct(Rule(0), first_drop);
    priors_.Correct(Rule(1), second_drop);
    tree_.Reset({.cost = 10}, {.hash = 1, .actions = {Rule(0), Rule(1)}});
    SearchTree::Leaf leaf;
    EXPECT_TRUE(tree_.Select(&leaf));
    tree_.Observe(leaf, {}, std::vector<State>(2, {.cost = 10}));
  }
  // Returns which of the two actions the next simulation descends to. It finds no gain, and more
  // actions to try.
  uint16_t Next() {
    SearchTree::Leaf leaf;
    EXPECT_TRUE(tree_.Select(&leaf));
    SearchTree::Opened opened = {.hash = ++hash_};
    if (leaf.priors.has_value()) {
      for (int i = 0; i < 100; ++i) opened.actions.push_back(Rule(2));
      SearchTree::SelectTries(opened, leaf);
    }
    tree_.Observe(leaf, opened, std::vector<State>(leaf.tries.size(), {.cost = 10}));
    return leaf.path[0].rule;
  }

 private:
  Priors priors_;
  SearchTree tree_;
  uint64_t hash_ = 1;
};

// The prior of an action after which costs rose may be negative.
TEST(SearchTree, WhatIsExpectedToDoHarmComesLast) {
  EXPECT_EQ(TwoWays(-1, 0).Next(), 1);
  EXPECT_EQ(TwoWays(0, -1).Next(), 0);
}

TEST(SearchTree, WhereNothingIsExpectedAllAreTriedInTurn) {
  for (const double drop : {-0.01, -1.0}) {
    TwoWays ways(drop, drop);
    std::vector<int> taken(2);
    for (int i = 0; i < 10; ++i) ++taken[ways.Next()];
    EXPECT_EQ(taken[0], taken[1]) << drop;
  }
}

// After a repricing in the middle of a search, the tree uses the new costs.
TEST(SearchTree, GoesWhereSomethingIsToBeGainedByTheNewCosts) {
  std::map<uint64_t, double> before, after;
  for (const int rules : {1, 2, 3, 4, 5}) {
    before[(uint64_t{1} << rules) - 1] = 10 - rules;
    after[((uint64_t{1} << rules) - 1) << 10] = 10 - rules;
  }
  World world(16, before);
  while (world.tree().best_cost() > 6) ASSERT_TRUE(world.Simulate());
  world.Reprice(after);
  const double known = world.tree().best_cost();
  EXPECT_GT(known, 6);
  while (world.tree().best_cost() > 5 && world.num_tried() < 2'000) ASSERT_TRUE(world.Simulate());
  EXPECT_EQ(world.tree().best_cost(), 5);
}

TEST(SearchTree, NothingIsDearerThanTheRoot) {
  World world(3, {{0, 10}, {1, 5}});
  while (world.Simulate()) {
  }
  world.Reprice({{0, 20}, {1, 50}, {2, 15}});
  EXPECT_EQ(world.tree().root_cost(), 20);
  EXPECT_EQ(SearchTreePeer::BestBelow(world.tree(), 1 + 1), 10);
  EXPECT_EQ(world.tree().best_cost(), 10);
}

}  // namespace
}  // namespace quotient::search
