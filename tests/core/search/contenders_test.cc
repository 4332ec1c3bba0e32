#include "core/search/contenders.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/core/search/listed_prices.h"

namespace quotient::search {
namespace {

std::vector<Action> PathTo(uint32_t to) { return {{Action::Kind::kPlace, 0, to}}; }

TEST(Contenders, TheBestFollowsWhatIsKnown) {
  ListedPrices prices;
  Contenders contenders(&prices);
  EXPECT_EQ(contenders.Best(), nullptr);
  for (uint32_t i = 0; i < 5; ++i) contenders.Add(BillId(i), PathTo(i), i);
  prices.costs = {{1, 3}, {3, 2}};
  EXPECT_EQ(contenders.Best()->bill, BillId(3));
  EXPECT_EQ(contenders.Best()->path, PathTo(3));
  EXPECT_EQ(contenders.Best()->seconds, 3);
  prices.costs = {{1, 3}, {3, 70}};
  EXPECT_EQ(contenders.Best()->bill, BillId(1));
}

TEST(Contenders, OfStatesWithTheSameBillTheFirstOneStays) {
  ListedPrices prices;
  Contenders contenders(&prices);
  EXPECT_TRUE(contenders.Wants(BillId(7)));
  contenders.Add(BillId(7), PathTo(1), 1);
  EXPECT_FALSE(contenders.Wants(BillId(7)));
  contenders.Add(BillId(7), PathTo(2), 2);
  EXPECT_EQ(contenders.size(), 1u);
  EXPECT_EQ(contenders.Best()->path, PathTo(1));
}

TEST(Contenders, WhatHasNoBillIsNone) {
  Contenders contenders(nullptr);
  EXPECT_FALSE(contenders.Wants(BillId()));
  contenders.Add(BillId(), PathTo(1), 1);
  EXPECT_EQ(contenders.Best(), nullptr);
}

TEST(Contenders, TheDearestAreForgottenAndMayComeAgain) {
  ListedPrices prices;
  Contenders contenders(&prices);
  constexpr auto kMost = static_cast<uint32_t>(Contenders::kMost);
  for (uint32_t i = 0; i < 2 * kMost; ++i) {
    prices.costs[i] = (i * 7919u) % (2 * kMost);  // each once, in no order
    contenders.Add(BillId(i), PathTo(i), 0);
  }
  EXPECT_EQ(contenders.size(), Contenders::kMost);
  for (uint32_t i = 0; i < 2 * kMost; ++i) {
    EXPECT_EQ(contenders.Wants(BillId(i)), prices.costs[i] >= kMost) << i;
  }
  EXPECT_EQ(contenders.Best()->bill, BillId(0));
}

TEST(Contenders, OfManyEqualsTheFirstStay) {
  ListedPrices prices;
  Contenders contenders(&prices);
  for (uint32_t i = 0; i < 5 * Contenders::kMost; ++i) contenders.Add(BillId(i), PathTo(i), 0);
  EXPECT_LT(contenders.size(), 2 * Contenders::kMost);
  EXPECT_EQ(contenders.Best()->bill, BillId(0));
  EXPECT_FALSE(contenders.Wants(BillId(0)));
}

}  // namespace
}  // namespace quotient::search
