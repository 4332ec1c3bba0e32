#include "core/base/distinct_tuples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace quotient {
namespace {

std::set<std::vector<int64_t>> Draw(const std::vector<int64_t>& sizes, int64_t count) {
  Rng rng(1);
  const std::vector<int64_t> numbers = DistinctTuples(sizes, count, rng);
  EXPECT_EQ(numbers.size(), static_cast<size_t>(count) * sizes.size());
  std::set<std::vector<int64_t>> tuples;
  for (size_t i = 0; i < numbers.size(); i += sizes.size()) {
    for (size_t k = 0; k < sizes.size(); ++k) {
      EXPECT_GE(numbers[i + k], 0);
      EXPECT_LT(numbers[i + k], std::max<int64_t>(sizes[k], 1));
    }
    tuples.emplace(numbers.begin() + static_cast<std::ptrdiff_t>(i),
                   numbers.begin() + static_cast<std::ptrdiff_t>(i + sizes.size()));
  }
  return tuples;
}

TEST(DistinctTuplesTest, NoTwoAreTheSame) {
  EXPECT_EQ(Draw({7}, 7).size(), 7u);
  EXPECT_EQ(Draw({3, 1, 5}, 15).size(), 15u);
  EXPECT_EQ(Draw({1000, 1000}, 200).size(), 200u);
  EXPECT_EQ(Draw({int64_t{1} << 40, int64_t{1} << 40}, 10).size(), 10u);
}

TEST(DistinctTuplesTest, WhereTheyAreTooFewSomeComeAgain) {
  EXPECT_LE(Draw({2, 2}, 9).size(), 4u);
  EXPECT_EQ(Draw({0, 1}, 3).size(), 1u);
}

TEST(DistinctTuplesTest, NoneAreNone) {
  EXPECT_TRUE(Draw({5}, 0).empty());
  EXPECT_TRUE(Draw({}, 4).empty());
}

}  // namespace
}  // namespace quotient
