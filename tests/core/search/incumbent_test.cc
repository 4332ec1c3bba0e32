#include "core/search/incumbent.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/core/search/listed_prices.h"

namespace quotient::search {
namespace {

std::vector<Action> PathTo(uint32_t to) { return {{Action::Kind::kPlace, 0, to}}; }

// A search with an initial state (bill 0), a largest state (1) and another one (2).
class IncumbentTest : public ::testing::Test {
 protected:
  IncumbentTest() { incumbent_.Set(Of(0, {}), {}); }

  Incumbent::Found Of(uint32_t bill, std::vector<Action> path) const {
    return {{.cost = prices_.CostOf(BillId(bill)), .bill = BillId(bill)},
            std::move(path),
            static_cast<double>(bill)};
  }
  void OfferBoth() {
    incumbent_.OfferLargest(Of(1, PathTo(1)), {});
    incumbent_.Offer(Of(2, PathTo(2)), {});
  }

  ListedPrices prices_;
  Incumbent incumbent_{&prices_};
};

TEST_F(IncumbentTest, WhatIsKnownToBeCheaperIsPreferredToTheLargest) {
  prices_.costs = {{1, 40}, {2, 39}};
  OfferBoth();
  incumbent_.PreferLargest(/*is_known=*/true, {});
  EXPECT_EQ(incumbent_.path(), PathTo(2));
  EXPECT_EQ(incumbent_.cost(), 39);
}

TEST_F(IncumbentTest, WhatOnlyLooksCheaperIsNot) {
  prices_.costs = {{1, 40}, {2, 1}};
  OfferBoth();
  EXPECT_EQ(incumbent_.path(), PathTo(2));
  incumbent_.PreferLargest(/*is_known=*/false, {});
  EXPECT_EQ(incumbent_.path(), PathTo(1));
  EXPECT_EQ(incumbent_.cost(), 40);
}

TEST_F(IncumbentTest, NorIsWhatIsHardlyCheaper) {
  prices_.costs = {{1, 40}, {2, 39.9}};
  OfferBoth();
  incumbent_.PreferLargest(/*is_known=*/true, {});
  EXPECT_EQ(incumbent_.path(), PathTo(1));
}

// PreferLargest uses the present cost of the largest state, which may have risen.
TEST_F(IncumbentTest, TheLargestMayHaveBecomeDear) {
  prices_.costs = {{1, 30}, {2, 39}};
  OfferBoth();
  EXPECT_EQ(incumbent_.path(), PathTo(1));
  prices_.costs[1] = 45;
  incumbent_.Reprice(50, {});
  incumbent_.PreferLargest(/*is_known=*/true, {});
  EXPECT_EQ(incumbent_.path(), PathTo(2));
}

// The best graph of the initial state is in the largest one, although extraction did not find it.
TEST_F(IncumbentTest, TheLargestCostsNoMoreThanTheBeginning) {
  prices_.costs = {{1, 70}};
  incumbent_.OfferLargest(Of(1, PathTo(1)), {});
  EXPECT_TRUE(incumbent_.path().empty());
  incumbent_.PreferLargest(/*is_known=*/true, {});
  EXPECT_EQ(incumbent_.path(), PathTo(1));
  EXPECT_EQ(incumbent_.cost(), 50);
}

// Walking to the largest state may take longer than walking to the best one.
TEST_F(IncumbentTest, TimeIsLeftToGoBack) {
  prices_.costs = {{4, 40}, {2, 30}};
  incumbent_.OfferLargest(Of(4, PathTo(4)), {});
  incumbent_.Offer(Of(2, PathTo(2)), {});
  EXPECT_EQ(incumbent_.seconds(), 4);
}

TEST_F(IncumbentTest, EndsWhereTimeRanOutIfThatIsNoWorse) {
  prices_.costs = {{1, 40}, {2, 30}};
  incumbent_.Offer(Of(1, PathTo(1)), {});
  EXPECT_FALSE(incumbent_.PrefersInterrupted());
  incumbent_.Interrupt({.cost = 41});
  EXPECT_FALSE(incumbent_.PrefersInterrupted());
  incumbent_.Interrupt({.cost = 40});
  EXPECT_TRUE(incumbent_.PrefersInterrupted());
  incumbent_.OfferInterrupted({});
  EXPECT_EQ(incumbent_.path(), PathTo(1)) << "of equal cost";
  incumbent_.Interrupt(Of(2, {}).state);
  EXPECT_TRUE(incumbent_.PrefersInterrupted());
  incumbent_.OfferInterrupted({});
  EXPECT_EQ(incumbent_.cost(), 30);
}

TEST_F(IncumbentTest, EndsInTheLargestWhateverItCosts) {
  incumbent_.InterruptInLargest({.cost = 1'000});
  EXPECT_TRUE(incumbent_.PrefersInterrupted());
}

TEST_F(IncumbentTest, TheStateWhereTimeRanOutIsRepriced) {
  prices_.costs = {{2, 30}};
  incumbent_.Interrupt(Of(2, {}).state);
  EXPECT_TRUE(incumbent_.PrefersInterrupted());
  prices_.costs[2] = 90;
  incumbent_.Reprice(/*root_cost=*/60, {});
  EXPECT_FALSE(incumbent_.PrefersInterrupted());
}

// Among states of equal cost, the one that holds more alternatives is of use only if costs may
// change.
TEST(Incumbent, WhereCostsNeverChangeTheRecordedStateIsKept) {
  Incumbent incumbent(nullptr);
  incumbent.Set({{.cost = 50}, {}, 0}, {});
  incumbent.Interrupt({.cost = 50});
  EXPECT_FALSE(incumbent.PrefersInterrupted());
}

TEST(Incumbent, WhereCostsNeverChangeTheBestIsTheBest) {
  Incumbent incumbent(nullptr);
  incumbent.Set({{.cost = 50}, {}, 0}, {});
  incumbent.OfferLargest({{.cost = 40}, PathTo(1), 0}, {});
  incumbent.Offer({{.cost = 39.99}, PathTo(2), 0}, {});
  incumbent.PreferLargest(/*is_known=*/false, {});
  EXPECT_EQ(incumbent.path(), PathTo(2));
}

}  // namespace
}  // namespace quotient::search
