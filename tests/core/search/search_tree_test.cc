#include "core/search/search_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/search/field_stream.h"

namespace quotient::search {
namespace {

Action Rule(uint16_t rule) { return {Action::Kind::kRule, rule}; }

// A world of states that are sets of rules, each of which can be applied once; the order makes no
// difference. Worth something: only what `cost` says.
class World {
 public:
  World(int num_rules, std::map<uint64_t, double> cost)
      : num_rules_(num_rules), cost_(std::move(cost)), priors_(num_rules, 0), tree_(&priors_) {
    tree_.Reset(StateOf(0), Opened(0));
  }

  double CostOf(uint64_t rules) const {
    const auto cost = cost_.find(rules);
    return cost == cost_.end() ? 10 : cost->second;
  }
  State StateOf(uint64_t rules) const {
    return {.cost = CostOf(rules),
            .bill = BillId(rules),
            .saturated = std::popcount(rules) == num_rules_};
  }
  SearchTree::Opened Opened(uint64_t rules) const {
    SearchTree::Opened opened = {.hash = rules + 1};
    for (uint16_t rule = 0; rule < num_rules_; ++rule) {
      if ((rules >> rule & 1) == 0) opened.actions.push_back(Rule(rule));
    }
    return opened;
  }
  static uint64_t RulesOf(const std::vector<Action>& path) {
    uint64_t rules = 0;
    for (const Action action : path) rules |= uint64_t{1} << action.rule;
    return rules;
  }
  // False if there is nothing left.
  bool Simulate() {
    SearchTree::Leaf leaf;
    if (!tree_.Select(&leaf)) return false;
    Observe(leaf);
    return true;
  }
  void Observe(SearchTree::Leaf leaf) {
    const uint64_t rules = RulesOf(leaf.path);
    SearchTree::Opened opened;
    if (leaf.priors.has_value()) {
      opened = Opened(rules);
      if (!tree_.Knows(opened.hash, leaf)) SearchTree::TakeTries(opened, leaf);
    }
    std::vector<State> states;
    for (const Action action : leaf.tries) {
      states.push_back(StateOf(rules | uint64_t{1} << action.rule));
    }
    num_tried_ += states.size();
    tree_.Observe(leaf, opened, states);
  }
  int64_t num_tried() const { return num_tried_; }
  // States cost something else from now on.
  void Reprice(std::map<uint64_t, double> cost) {
    cost_ = std::move(cost);
    tree_.Reprice([this](BillId bill) { return CostOf(bill.value()); });
  }
  double Expect(uint16_t rule) { return priors_.Expect(Rule(rule)); }

  SearchTree& tree() { return tree_; }
  // All of it but the leaves that are under way.
  std::string Written() const {
    FieldWriter stream;
    priors_.Write(stream);
    tree_.Write(stream);
    return stream.Take();
  }
  bool Read(const std::string& bytes) {
    FieldReader stream(bytes);
    priors_.Read(stream);
    tree_.Read(stream);
    return stream.done();
  }

 private:
  const int num_rules_;
  std::map<uint64_t, double> cost_;
  Priors priors_;
  SearchTree tree_;
  int64_t num_tried_ = 0;
};

TEST(SearchTree, SeesEveryStateOnceAndThenIsExhausted) {
  World world(5, {{0b10110, 3}});
  while (world.Simulate()) {
  }
  EXPECT_TRUE(world.tree().exhausted());
  // Not 326, as many as there are ways. The last one leads nowhere and so is never opened: there
  // are as many of it as edges to it.
  EXPECT_EQ(world.tree().num_states(), 31u + 5);
  EXPECT_EQ(world.num_tried(), 5 * 16);  // edges of the graph of states
  EXPECT_EQ(world.tree().best_cost(), 3);
}

TEST(SearchTree, GoesOnWhereSomethingWasGained) {
  // Of 2^16 states those that lead to the best one are a little better.
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

// Two ways to one state, opened at the same time: neither can know of the other.
TEST(SearchTree, OfOneStateThatIsOpenedTwiceOneNodeStays) {
  World world(3, {});
  world.Simulate();  // the states of one rule
  std::vector<SearchTree::Leaf> leaves;
  for (SearchTree::Leaf leaf; world.tree().Select(&leaf);) leaves.push_back(leaf);
  for (const SearchTree::Leaf& leaf : leaves) world.Observe(leaf);
  leaves.clear();
  // Those of two rules, each by two ways.
  for (SearchTree::Leaf leaf; world.tree().Select(&leaf);) leaves.push_back(leaf);
  ASSERT_EQ(leaves.size(), 6u);
  const size_t before = world.tree().num_states();
  for (const SearchTree::Leaf& leaf : leaves) world.Observe(leaf);
  // Three are duplicates; the others have the last state behind them.
  EXPECT_EQ(world.tree().num_states(), before - 3 + 3);
  while (world.Simulate()) {
  }
  EXPECT_TRUE(world.tree().exhausted());
}

// Growing to the limit leads to states of 100 e-nodes, each of 64 places to such of 10.
class GrowingWorld {
 public:
  GrowingWorld() : priors_(1, 0), tree_(&priors_) {
    SearchTree::Opened opened = {.hash = 1};
    for (uint32_t i = 0; i < 64; ++i) opened.actions.push_back({Action::Kind::kPlace, 0, i});
    opened.actions.push_back(kGrow);
    tree_.Reset({.cost = 10, .enodes = 10}, opened);
  }
  static constexpr Action kGrow = {Action::Kind::kGrow, 0, Action::kToTheLimit};

  // What is tried next; nothing is left to try behind that.
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

// Some simulations in a world that is not exhausted yet, and some more that are under way: both
// that open a node and that do not.
struct HalfDone {
  HalfDone() {
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(world.Simulate());
    const auto has_all = [this] {
      return leaves.size() >= 16 && !opens.path.empty() && !widens.path.empty();
    };
    for (SearchTree::Leaf leaf; !has_all() && world.tree().Select(&leaf);) {
      leaves.push_back(leaf);
      (leaf.priors.has_value() ? opens : widens) = leaf;
    }
    EXPECT_GE(leaves.size(), 16u);
    EXPECT_FALSE(opens.path.empty());
    EXPECT_FALSE(widens.path.empty());
  }

  World world{12, {{0b11, 5}, {0b10110, 3}}};
  std::vector<SearchTree::Leaf> leaves;
  SearchTree::Leaf opens, widens;
};

TEST(SearchTree, OneThatWasReadGoesOnAsTheOneThatWasWritten) {
  HalfDone half;
  World& world = half.world;
  World read(12, {{0b11, 5}, {0b10110, 3}});
  ASSERT_TRUE(read.Read(world.Written()));
  EXPECT_EQ(read.tree().num_states(), world.tree().num_states());
  EXPECT_EQ(read.tree().best_cost(), world.tree().best_cost());
  std::vector<SearchTree::Leaf> again = half.leaves;
  for (SearchTree::Leaf& leaf : again) {
    leaf.nodes.clear();
    leaf.path.clear();
    ASSERT_TRUE(read.tree().TakeUp(&leaf));
  }
  for (size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].path, half.leaves[i].path);
    world.Observe(half.leaves[i]);
    read.Observe(again[i]);
  }
  for (bool more = true; more;) {
    SearchTree::Leaf leaf, same;
    more = world.tree().Select(&leaf);
    ASSERT_EQ(read.tree().Select(&same), more);
    EXPECT_EQ(same.path, leaf.path);
    EXPECT_EQ(same.tries, leaf.tries);
    if (more) world.Observe(leaf);
    if (more) read.Observe(same);
  }
  EXPECT_TRUE(read.tree().exhausted());
  EXPECT_EQ(read.Written(), world.Written());
}

TEST(SearchTree, OnlyWhatIsUnderWayIsTakenUp) {
  HalfDone half;
  World read(12, {});
  ASSERT_TRUE(read.Read(half.world.Written()));
  const auto expect_refused = [&](SearchTree::Leaf leaf, const auto& change) {
    change(leaf);
    EXPECT_FALSE(read.tree().TakeUp(&leaf));
  };
  expect_refused(half.widens, [](auto& leaf) { leaf.edges[0] = 1000; });
  expect_refused(half.widens, [](auto& leaf) { leaf.first_edge = 1000; });
  expect_refused(half.widens, [](auto& leaf) { leaf.tries.resize(1000, leaf.tries[0]); });
  expect_refused(half.widens, [](auto& leaf) { leaf.tries[0].rule ^= 1; });
  expect_refused(half.widens, [&](auto& leaf) { leaf.priors = half.opens.priors; });
  expect_refused(half.opens, [](auto& leaf) { leaf.edges.pop_back(); });
  for (SearchTree::Leaf leaf : {half.widens, half.opens}) {
    const std::vector<SearchTree::NodeId> nodes = leaf.nodes;
    EXPECT_TRUE(read.tree().TakeUp(&leaf));
    EXPECT_EQ(leaf.nodes, nodes);
    EXPECT_FALSE(read.tree().TakeUp(&leaf)) << "twice";
  }
}

TEST(SearchTree, OneOfMoreRulesIsNotRead) {
  HalfDone half;
  World fewer(11, {});
  EXPECT_FALSE(fewer.Read(half.world.Written()));
}

std::map<uint64_t, double> RandomCosts(int num_rules, Rng& rng) {
  std::map<uint64_t, double> costs = {{0, 10}};
  for (uint64_t rules = 1; rules < uint64_t{1} << num_rules; ++rules) {
    costs[rules] = rng.Uniform(5, 10);
  }
  return costs;
}

// A tree that was grown by other costs and one that was grown by the new ones: where all has been
// seen, they know the same.
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
      EXPECT_EQ(repriced.tree().BestBelow(rules + 1), best);
    }
    for (uint16_t rule = 0; rule < kRules; ++rule) {
      EXPECT_NEAR(repriced.Expect(rule), grown.Expect(rule), 1e-9);
    }
  }
}

// In the middle of a search the tree goes by the new costs from then on.
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
  EXPECT_EQ(world.tree().BestBelow(1 + 1), 10);
  EXPECT_EQ(world.tree().best_cost(), 10);
}

TEST(Priors, ComeToExpectWhatActionsBring) {
  Priors priors(2, 0);
  EXPECT_NEAR(priors.Expect(Rule(0)), priors.Expect(Rule(1)), 0.006);
  for (int i = 0; i < 10; ++i) priors.Learn(Rule(0), 0.2);
  for (int i = 0; i < 10; ++i) priors.Learn(Rule(1), 0);
  EXPECT_GT(priors.Expect(Rule(0)), 0.15);
  EXPECT_LT(priors.Expect(Rule(0)), 0.3);
  EXPECT_LT(priors.Expect(Rule(1)), 0.01);
  EXPECT_GT(priors.Expect(Rule(1)), 0);
}

TEST(Priors, DependOnTheSeedAndChangeWhenShaken) {
  Priors priors(1, 1);
  const double before = priors.Expect(Rule(0));
  EXPECT_EQ(Priors(1, 1).Expect(Rule(0)), before);
  EXPECT_NE(Priors(1, 2).Expect(Rule(0)), before);
  priors.Shake();
  EXPECT_NE(priors.Expect(Rule(0)), before);
}

}  // namespace
}  // namespace quotient::search
