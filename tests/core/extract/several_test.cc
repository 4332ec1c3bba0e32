#include "core/extract/several.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/rng.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::ExhaustiveOptimum;
using ::quotient::testing::ExtractionCase;

// Two choices of two, which are independent: four selections.
TEST(ExtractSeveral, FindsAllThereAreInOrder) {
  const ExtractionCase example(
      3, {{0, 1, {}}, {0, 3, {}}, {1, 10, {}}, {1, 14, {}}, {2, 0, {0, 1}}}, {2});
  const auto best = ExtractSeveral(example.problem(), 10, StopCondition());
  ASSERT_TRUE(best.ok());
  std::vector<double> costs;
  for (const Selection& selection : *best) costs.push_back(selection.cost);
  EXPECT_EQ(costs, (std::vector<double>{11, 13, 15, 17}));
}

TEST(ExtractSeveral, AreDifferentValidAndBeginWithTheBest) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example =
        seed % 2 == 0 ? ExtractionCase::Random(rng, 8) : ExtractionCase::RandomWithFusions(rng, 8);
    const auto best = ExtractSeveral(example.problem(), 5, StopCondition());
    const auto dag = FindExtractor("dag")->Extract(example.problem(), StopCondition());
    ASSERT_EQ(best.ok(), dag.ok());
    if (!best.ok()) continue;
    ASSERT_GE(best->size(), 1);
    ASSERT_LE(best->size(), 5);
    EXPECT_LE(best->front().cost, dag->cost + 1e-9);
    std::set<std::vector<ENodeId>> choices;
    for (const Selection& selection : *best) {
      EXPECT_NEAR(*CheckSelection(example.problem(), selection), selection.cost, 1e-9);
      EXPECT_TRUE(choices.insert(selection.choice).second);
    }
    EXPECT_TRUE(std::ranges::is_sorted(*best, {}, &Selection::cost));
  }
}

TEST(ExtractSeveral, StoppedThereIsOne) {
  CancelToken token;
  token.Cancel();
  const ExtractionCase example(2, {{0, 1, {}}, {0, 3, {}}, {1, 0, {0}}}, {1});
  EXPECT_EQ(ExtractSeveral(example.problem(), 5, StopCondition(&token))->size(), 1);
}

}  // namespace
}  // namespace quotient::extract
