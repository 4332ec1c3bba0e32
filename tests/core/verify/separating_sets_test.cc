#include "core/verify/separating_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace quotient::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool AcceptsAll(const OnesSet&) { return true; }

bool Has(const OnesSet& set, size_t dim) { return std::ranges::find(set, dim) != set.end(); }

TEST(SeparatingSetsTest, AntichainsAreSmall) {
  EXPECT_THAT(FindSeparatingSets({0, 0}, AcceptsAll).sets,
              ElementsAre(ElementsAre(1), ElementsAre(0)));
  EXPECT_THAT(FindSeparatingSets(std::vector<size_t>(3, 0), AcceptsAll).sets, SizeIs(3));
  EXPECT_THAT(FindSeparatingSets(std::vector<size_t>(6, 0), AcceptsAll).sets, SizeIs(4));
  EXPECT_THAT(FindSeparatingSets(std::vector<size_t>(64, 0), AcceptsAll).sets, SizeIs(8));
  // All names are broken by the same sets.
  EXPECT_THAT(FindSeparatingSets({0, 1, 0, 1}, AcceptsAll).sets,
              ElementsAre(ElementsAre(2, 3), ElementsAre(0, 1)));
}

TEST(SeparatingSetsTest, DimensionsWithANameOfTheirOwnStay) {
  EXPECT_THAT(FindSeparatingSets({0, 1, 2}, AcceptsAll).sets, IsEmpty());
}

TEST(SeparatingSetsTest, NeighborsThatMustBeEqualAreAUnit) {
  const auto accepts = [](const OnesSet& ones) {
    return Has(ones, 0) == Has(ones, 1) && Has(ones, 2) == Has(ones, 3);
  };
  EXPECT_THAT(FindSeparatingSets({0, 0, 0, 0}, accepts).sets,
              ElementsAre(ElementsAre(2, 3), ElementsAre(0, 1)));
}

TEST(SeparatingSetsTest, OfTooManyDimensionsNotAllAreTried) {
  int calls = 0;
  const auto accepts = [&calls](const OnesSet& ones) {
    ++calls;
    return ones.size() == 1;
  };
  EXPECT_FALSE(FindSeparatingSets(std::vector<size_t>(1000, 0), accepts).tried_all);
  EXPECT_LE(calls, 2 * 64 + 128);
  EXPECT_FALSE(FindSeparatingSets(std::vector<size_t>(65, 0), AcceptsAll).tried_all);
  EXPECT_TRUE(FindSeparatingSets(std::vector<size_t>(64, 0), AcceptsAll).tried_all);
}

// Whatever operators accept: what may be 1 alone is told from all others of its name.
TEST(SeparatingSetsTest, EachDimensionIsToldFromAllOthersOfItsName) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<size_t> groups(2 + random() % 8);
    for (size_t& group : groups) group = random() % 3;
    const unsigned share = random() % 5;
    std::map<OnesSet, bool> accepted;
    const auto accepts = [&](const OnesSet& ones) {
      return accepted.emplace(ones, random() % 4 < share).first->second;
    };
    const SeparatingSets result = FindSeparatingSets(groups, accepts);
    ASSERT_TRUE(result.tried_all);
    for (const OnesSet& set : result.sets) EXPECT_TRUE(accepted.at(set));
    for (size_t i = 0; i < groups.size(); ++i) {
      for (size_t j = 0; j < groups.size(); ++j) {
        if (i == j || groups[i] != groups[j] || !accepts({i})) continue;
        EXPECT_TRUE(std::ranges::any_of(
            result.sets, [&](const OnesSet& set) { return Has(set, i) && !Has(set, j); }))
            << i << " and " << j << " in round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace quotient::verify
