#include "core/verify/slices.h"

#include <gtest/gtest.h>

namespace quotient::verify {
namespace {

std::vector<std::vector<int64_t>> Numbers(std::vector<int64_t> dims) {
  std::vector<std::vector<int64_t>> numbers;
  Slices(dims).ForEachElement([&](int64_t index, std::span<const int64_t> slices) {
    EXPECT_EQ(index, static_cast<int64_t>(numbers.size()));
    numbers.emplace_back(slices.begin(), slices.end());
  });
  return numbers;
}

TEST(SlicesTest, OfEveryAxisThatHasLargeOnes) {
  // Rows of four; columns of two are too small.
  EXPECT_EQ(Numbers({2, 4}), (std::vector<std::vector<int64_t>>{
                                 {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 2}, {0, 2}, {0, 2}, {0, 2}}));
  const std::vector<int64_t> dims = {4, 1, 4};
  const Slices slices(dims);
  EXPECT_EQ(slices.count(), 9u);
  EXPECT_EQ(slices.Sizes(), (std::vector<int64_t>{16, 4, 4, 4, 4, 4, 4, 4, 4}));
  EXPECT_EQ(Numbers(dims)[6], (std::vector<int64_t>{0, 2, 7}));
}

TEST(SlicesTest, SmallTensorsAreOneSlice) {
  EXPECT_EQ(Numbers({}), (std::vector<std::vector<int64_t>>{{0}}));
  EXPECT_EQ(Numbers({2}), (std::vector<std::vector<int64_t>>{{0}, {0}}));
  EXPECT_TRUE(Numbers({3, 0}).empty());
}

}  // namespace
}  // namespace quotient::verify
