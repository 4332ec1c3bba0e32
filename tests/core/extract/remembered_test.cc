#include "core/extract/remembered.h"

#include <gtest/gtest.h>

#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::ExtractionCase;

// A root that is computed in either of two ways.
ExtractionCase TwoWays(double first, double second) {
  return ExtractionCase(1, {{0, first, {}}, {0, second, {}}}, {0});
}

// Counts how often a selection is made.
class RememberedTest : public ::testing::Test {
 protected:
  double Cost(const ExtractionCase& example, const StopCondition& stop = {}) {
    const Problem problem = example.problem();
    const auto choose = [&] {
      ++made_;
      return FindExtractor("dag")->Extract(problem, {});
    };
    return remembered_.Get(problem, stop, choose)->cost;
  }

  Remembered remembered_;
  int made_ = 0;
};

TEST_F(RememberedTest, IsNotMadeAgainWhileCostsStay) {
  EXPECT_EQ(Cost(TwoWays(3, 2)), 2);
  EXPECT_EQ(Cost(TwoWays(3, 2)), 2);
  EXPECT_EQ(made_, 1);
}

TEST_F(RememberedTest, IsMadeAgainWhenAnyCostChanges) {
  EXPECT_EQ(Cost(TwoWays(3, 2)), 2);
  EXPECT_EQ(Cost(TwoWays(1, 2)), 1);
  EXPECT_EQ(Cost(TwoWays(3, 2)), 2);
  EXPECT_EQ(made_, 3);
}

TEST_F(RememberedTest, WhatWasCutShortIsMadeAgain) {
  CancelToken token;
  token.Cancel();
  EXPECT_EQ(Cost(TwoWays(3, 2), StopCondition(&token)), 2);
  EXPECT_EQ(Cost(TwoWays(3, 2)), 2);
  EXPECT_EQ(made_, 2);
}

TEST(CostsDigest, CountsWhatEnodesShare) {
  const std::vector<testing::CaseNode> nodes = {{0, 2, {1}}, {1, 3, {}}};
  const ExtractionCase alone(2, nodes, {0});
  const ExtractionCase fused(2, nodes, {0}, {{0, 1, 1.5}});
  const ExtractionCase shared(2, nodes, {0}, {}, {{{0, 1}, 4}});
  EXPECT_NE(CostsDigest(alone.problem()), CostsDigest(fused.problem()));
  EXPECT_NE(CostsDigest(alone.problem()), CostsDigest(shared.problem()));
}

}  // namespace
}  // namespace quotient::extract
