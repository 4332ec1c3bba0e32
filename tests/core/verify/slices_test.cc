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

TEST(SlicesTest, RunsShareAllSlicesButThoseOfTheLastAxis) {
  const std::vector<int64_t> dims = {4, 1, 4};
  std::vector<int64_t> begins;
  Slices(dims).ForEachRun([&](const Slices::Run& run) {
    EXPECT_EQ(run.count, 4);
    EXPECT_EQ(run.shared.size(), 2u);
    EXPECT_EQ(run.own, 5);
    begins.push_back(run.begin);
  });
  EXPECT_EQ(begins, (std::vector<int64_t>{0, 4, 8, 12}));
  const std::vector<int64_t> narrow = {2, 4};
  Slices(narrow).ForEachRun([](const Slices::Run& run) {
    EXPECT_EQ(run.count, 4);
    EXPECT_EQ(run.own, std::nullopt);
  });
}

TEST(SlicesTest, SmallTensorsAreOneSlice) {
  EXPECT_EQ(Numbers({}), (std::vector<std::vector<int64_t>>{{0}}));
  EXPECT_EQ(Numbers({2}), (std::vector<std::vector<int64_t>>{{0}, {0}}));
  EXPECT_TRUE(Numbers({3, 0}).empty());
}

}  // namespace
}  // namespace quotient::verify
