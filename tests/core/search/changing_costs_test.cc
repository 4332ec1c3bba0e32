#include "core/search/changing_costs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/egraph/term_workspace.h"

namespace quotient::search {
namespace {

std::vector<Action> PathTo(uint32_t to) { return {{Action::Kind::kPlace, 0, to}}; }

// Costs of bills, of which a part arrives each time that someone waits. Any other bill costs 50.
class ArrivingPrices final : public Prices {
 public:
  bool HasNews() const override { return !news_.empty(); }
  bool Update() override {
    for (const auto& [bill, cost] : std::exchange(news_, {})) costs_[bill] = cost;
    return true;
  }
  double CostOf(BillId bill) const override {
    const auto found = costs_.find(bill.value());
    return found == costs_.end() ? 50 : found->second;
  }
  bool BestIsKnown() const override { return num_waits >= to_come.size(); }
  void AwaitBest(const StopCondition& stop) override {
    if (!stop.ShouldStop()) Arrive(to_come[num_waits++]);
  }
  void Arrive(const std::map<uint32_t, double>& costs) {
    for (const auto& [bill, cost] : costs) news_[bill] = cost;
  }

  std::vector<std::map<uint32_t, double>> to_come;
  size_t num_waits = 0;

 private:
  std::map<uint32_t, double> costs_, news_;
};

// A clock that a test sets.
class SetClock final : public Clock {
 public:
  int64_t NowNs() const override { return ns; }
  int64_t UnixMs() const override { return 0; }
  int64_t ns = 0;
};

// A search with an initial state, whose bill is 0.
class ChangingCostsTest : public ::testing::Test {
 protected:
  ChangingCostsTest() {
    const State root = {.cost = 50, .bill = BillId(0)};
    best_.Set({root, {}, 0}, {});
    SearchTree::Opened opened = {.hash = 1};
    for (uint32_t i = 0; i < 1'000; ++i) opened.actions.push_back({Action::Kind::kPlace, 0, i});
    trees_.SetRoot({root, opened, opened});
    trees_.Begin();
  }

  State StateOf(uint32_t bill) const {
    return {.cost = prices_.CostOf(BillId(bill)), .bill = BillId(bill)};
  }
  // Tries the next actions. All lead to states with this bill.
  void Simulate(uint32_t bill) {
    SearchTree::Leaf leaf;
    ASSERT_TRUE(trees_.tree().Select(&leaf));
    SearchTree::Opened opened = {.hash = ++hash_};
    if (leaf.priors.has_value()) {
      opened.actions.push_back({Action::Kind::kPlace, 0, 0});
      SearchTree::SelectTries(opened, leaf);
    }
    trees_.tree().Observe(leaf, opened, std::vector<State>(leaf.tries.size(), StateOf(bill)));
  }

  SetClock clock_;
  ArrivingPrices prices_;
  Progress progress_{&clock_};
  SuccessiveTrees trees_{1, /*seed=*/0};
  Incumbent best_{&prices_};
  ChangingCosts costs_{&prices_, &progress_, &trees_, &best_};
  CancelToken token_;
  uint64_t hash_ = 1;
};

TEST_F(ChangingCostsTest, AllThatIsRememberedIsRepriced) {
  Simulate(1);
  best_.Offer({StateOf(1), PathTo(1), 1}, {});
  prices_.Arrive({{0, 80}, {1, 30}});
  costs_.Reprice();
  EXPECT_EQ(trees_.root().cost, 80);
  EXPECT_EQ(trees_.tree().best_cost(), 30);
  EXPECT_EQ(best_.cost(), 30);
  EXPECT_EQ(best_.path(), PathTo(1));
}

TEST_F(ChangingCostsTest, NoStateIsDearerThanTheRootAfterARepricing) {
  State dear = {.cost = 70, .bill = BillId(1)};
  costs_.RepriceState(dear);
  EXPECT_EQ(dear.cost, 70) << "nothing has changed";
  prices_.Arrive({{0, 40}, {1, 60}});
  costs_.Reprice();
  costs_.RepriceState(dear);
  EXPECT_EQ(dear.cost, 40);
}

TEST_F(ChangingCostsTest, ALargeTreeIsRepricedAfterSomeSimulations) {
  while (trees_.tree().num_states() < 64) Simulate(1);
  prices_.Arrive({{0, 40}});
  costs_.RepriceIfDue();
  EXPECT_EQ(trees_.root().cost, 50);
  for (size_t i = 0; i < trees_.tree().num_states() / 64; ++i) progress_.CountSimulation();
  costs_.RepriceIfDue();
  EXPECT_EQ(trees_.root().cost, 40);
}

TEST_F(ChangingCostsTest, TheEndWaitsUntilNothingIsMissing) {
  best_.Offer({StateOf(1), PathTo(1), 1}, {});
  best_.Offer({StateOf(2), PathTo(2), 1}, {});
  // The first one looks cheap until all of it is known.
  prices_.to_come = {{{1, 20}, {2, 30}}, {{1, 25}}, {{1, 45}}};
  costs_.SettleBest({});
  EXPECT_EQ(prices_.num_waits, 3u);
  EXPECT_EQ(best_.path(), PathTo(2));
  EXPECT_EQ(best_.cost(), 30);
}

TEST_F(ChangingCostsTest, TheEndDoesNotWaitWhenTimeIsUp) {
  prices_.to_come = {{{0, 10}}};
  token_.Cancel();
  costs_.SettleBest(StopCondition(&token_));
  EXPECT_EQ(prices_.num_waits, 0u);
}

TEST_F(ChangingCostsTest, TimeIsReservedOnlyWhileSomethingIsMissing) {
  clock_.ns = 8'000'000'000;
  EXPECT_EQ(costs_.SecondsToSettleBest(), 0);
  prices_.to_come = {{{0, 10}}};
  EXPECT_DOUBLE_EQ(costs_.SecondsToSettleBest(), 2);
}

TEST_F(ChangingCostsTest, WhereCostsNeverChangeThereIsNothingToDo) {
  Incumbent best(nullptr);
  best.Set({{.cost = 50}, {}, 0}, {});
  ChangingCosts costs(nullptr, &progress_, &trees_, &best);
  costs.Reprice();
  costs.RepriceIfDue();
  State state = {.cost = 70};
  costs.RepriceState(state);
  EXPECT_EQ(state.cost, 70);
  costs.SettleBest({});
  EXPECT_EQ(best.cost(), 50);
  EXPECT_EQ(costs.SecondsToSettleBest(), 0);
}

// Settles the state that a small term grows to.
class SettleLargestTest : public ChangingCostsTest {
 protected:
  SettleLargestTest() {
    workspace_ = *testing::TermWorkspace::Make(testing::MathAlgebra(),
                                               "comm: (+ ?a ?b) => (+ ?b ?a)", "rules", "(+ x y)");
    walk_.emplace(workspace_.get(), &limits_, &clock_);
    EXPECT_TRUE(walk_->GoTo(PathToGrown(), {}).ok());
    best_.OfferLargest({StateOf(1), PathToGrown(), 0}, {});
  }

  Limits limits_;
  std::unique_ptr<testing::TermWorkspace> workspace_;
  std::optional<Walk> walk_;
};

TEST_F(SettleLargestTest, WaitsUntilNothingIsMissing) {
  prices_.to_come = {{{1, 20}}, {{1, 30}}};
  EXPECT_EQ(costs_.SettleLargest(*walk_, {}), StopReason::kNone);
  EXPECT_EQ(prices_.num_waits, 2u);
  EXPECT_FALSE(best_.PrefersInterrupted());
}

TEST_F(SettleLargestTest, WhatIsCheaperThanASettledStateIsTheAnswer) {
  prices_.to_come = {{{1, 20}}};
  EXPECT_EQ(costs_.SettleLargest(*walk_, {}), StopReason::kNone);
  best_.Offer({{.cost = 1}, PathTo(2), 0}, {});
  costs_.SettleBest({});
  EXPECT_EQ(best_.path(), PathTo(2));
}

TEST_F(SettleLargestTest, WithoutSettlingTheLargestStateIsTheAnswer) {
  best_.Offer({{.cost = 1}, PathTo(2), 0}, {});
  costs_.SettleBest({});
  EXPECT_EQ(best_.path(), PathToGrown());
}

TEST_F(SettleLargestTest, WhenTimeIsUpTheSearchEndsThere) {
  prices_.to_come = {{{1, 20}}};
  token_.Cancel();
  EXPECT_EQ(costs_.SettleLargest(*walk_, StopCondition(&token_)), StopReason::kCancelled);
  EXPECT_TRUE(best_.PrefersInterrupted());
}

}  // namespace
}  // namespace quotient::search
