#include "core/extract/exact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/base/rng.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::ExhaustiveOptimum;
using ::quotient::testing::ExtractionCase;
using ::quotient::testing::Optimum;

TEST(ExactExtractor, EqualsExhaustiveEnumeration) {
  int solvable = 0;
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed + 1'000'000);
    const ExtractionCase example = ExtractionCase::Random(rng, 7);
    const std::optional<Optimum> optimum = ExhaustiveOptimum(example.problem());
    const auto selection = ExactExtractor().Extract(example.problem(), StopCondition());
    ASSERT_EQ(selection.ok(), optimum.has_value()) << selection.status();
    if (!optimum.has_value()) continue;
    ++solvable;
    EXPECT_NEAR(selection->cost, optimum->dag_cost, 1e-9);
    EXPECT_NEAR(selection->lower_bound, optimum->dag_cost, 1e-6 * optimum->dag_cost);
    EXPECT_LE(selection->lower_bound, optimum->dag_cost);
  }
  EXPECT_GT(solvable, 7000);
}

TEST(ExactExtractor, KnowsThatNothingIsComputedTwiceToFuse) {
  int solvable = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::RandomWithFusions(rng, 7);
    const std::optional<Optimum> optimum = ExhaustiveOptimum(example.problem());
    if (!optimum.has_value()) continue;
    const Selection selection = *ExactExtractor().Extract(example.problem(), StopCondition());
    EXPECT_NEAR(selection.cost, optimum->dag_cost, 1e-9);
    EXPECT_LE(selection.lower_bound, optimum->dag_cost + 1e-9);
    EXPECT_NEAR(selection.lower_bound, optimum->dag_cost, 1e-6 * optimum->dag_cost + 1e-9);
    ++solvable;
  }
  EXPECT_GT(solvable, 1200);
}

TEST(ExactExtractor, KnowsThatSharedKernelsArePaidOnce) {
  int solvable = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::RandomWithSharedKernels(rng, 7);
    const std::optional<Optimum> optimum = ExhaustiveOptimum(example.problem());
    if (!optimum.has_value()) continue;
    const Selection selection = *ExactExtractor().Extract(example.problem(), StopCondition());
    EXPECT_NEAR(selection.cost, optimum->dag_cost, 1e-9);
    EXPECT_LE(selection.lower_bound, optimum->dag_cost + 1e-9);
    ++solvable;
  }
  EXPECT_GT(solvable, 1200);
}

TEST(ExactExtractor, LocalSearchComesWithinAPercent) {
  int cases = 0;
  double sum_of_gaps = 0;
  for (uint64_t seed = 0; cases < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::Random(rng, 120);
    const auto exact = ExactExtractor().Extract(example.problem(), StopCondition());
    if (!exact.ok() || exact->cost == 0) continue;
    ASSERT_NEAR(exact->lower_bound, exact->cost, 1e-6 * exact->cost);
    const Selection dag = *FindExtractor("dag")->Extract(example.problem(), StopCondition());
    ASSERT_TRUE(CheckSelection(example.problem(), *exact).ok());
    sum_of_gaps += dag.cost / exact->cost - 1;
    ++cases;
  }
  EXPECT_GE(sum_of_gaps, 0);
  EXPECT_LT(sum_of_gaps / cases, 0.01);
  RecordProperty("mean_gap_ppm", static_cast<int>(sum_of_gaps / cases * 1e6));
}

// Random parts, each of which needs the one before it: together they cost what they cost alone, and
// what is proven of them is proven of all.
TEST(ExactExtractor, LongChainsOfPartsAreProven) {
  constexpr size_t kParts = 12, kSize = 30;
  Rng rng(5);
  std::vector<testing::CaseNode> all;
  double sum = 0;
  for (size_t part = 0; part < kParts; ++part) {
    std::vector<testing::CaseNode> nodes = {{0, 0, {}}};
    for (size_t i = 1; i < kSize; ++i) {
      const bool top = i == kSize - 1;  // needs the part before it in any case
      for (int n = 0; n < (top ? 1 : 3); ++n) {
        testing::CaseNode node = {i, static_cast<double>(1 + rng.Below(9)), {}};
        for (int c = 0; c < 2; ++c)
          node.children.push_back(i - 1 - rng.Below(std::min<size_t>(i, 8)));
        if (top) node.children.push_back(0);
        nodes.push_back(node);
      }
    }
    const ExtractionCase alone(kSize, nodes, {kSize - 1});
    sum += ExactExtractor().Extract(alone.problem(), StopCondition())->cost;
    for (testing::CaseNode node : nodes) {
      if (node.of == 0 && part > 0) node.children.push_back(part * kSize - 1);
      node.of += part * kSize;
      if (node.of != part * kSize) {
        for (size_t& child : node.children) child += part * kSize;
      }
      all.push_back(node);
    }
  }
  const ExtractionCase example(kParts * kSize, all, {kParts * kSize - 1});
  const auto selection = ExactExtractor().Extract(example.problem(), StopCondition());
  ASSERT_TRUE(selection.ok());
  EXPECT_NEAR(selection->cost, sum, 1e-9 * sum);
  EXPECT_NEAR(selection->lower_bound, sum, 1e-6 * sum);
}

// Bounds alone leave a few percent open here, and branch and cut needs more than minutes.
TEST(ExactExtractor, LongStripsAreProven) {
  Rng rng(6);
  const ExtractionCase example = ExtractionCase::RandomStrip(rng, 5, 100, 3);
  const StopCondition stop = StopCondition().WithBudget(Clock::System(), 60);
  const auto selection = ExactExtractor().Extract(example.problem(), stop);
  ASSERT_TRUE(selection.ok());
  EXPECT_NEAR(selection->lower_bound, selection->cost, 1e-9 * selection->cost);
}

TEST(ExactExtractor, CancelledItStillAnswers) {
  CancelToken token;
  token.Cancel();
  Rng rng(7);
  const ExtractionCase example = ExtractionCase::Random(rng, 60);
  const auto selection = ExactExtractor().Extract(example.problem(), StopCondition(&token));
  ASSERT_TRUE(selection.ok());
  EXPECT_EQ(*CheckSelection(example.problem(), *selection), selection->cost);
  EXPECT_LE(selection->lower_bound, selection->cost);
}

}  // namespace
}  // namespace quotient::extract
