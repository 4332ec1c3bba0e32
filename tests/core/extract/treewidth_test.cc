#include "core/extract/treewidth.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "core/base/rng.h"
#include "core/extract/branch_and_cut.h"
#include "core/extract/choice.h"
#include "core/extract/extract.h"
#include "core/extract/to_selection.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::CaseNode;
using ::quotient::testing::ExhaustiveOptimum;
using ::quotient::testing::ExtractionCase;
using ::quotient::testing::Optimum;

constexpr double kAnyCost = std::numeric_limits<double>::infinity();
constexpr TreewidthLimits kWide = {
    .max_width = 31, .max_entries = 1 << 20, .max_candidates_per_node = 1 << 20};

TreewidthResult Minimize(const Instance& instance, double cutoff = kAnyCost,
                         const TreewidthLimits& limits = kWide) {
  return MinimizeByTreewidth(instance, cutoff, limits, StopCondition());
}

// Against all selections of random cases by `make`. Returns how many were solved; given up may be
// one in fifty, where there are many cycles.
template <typename MakeCase>
int ExpectOptima(uint64_t num_seeds, const MakeCase& make) {
  int solved = 0, given_up = 0;
  for (uint64_t seed = 0; seed < num_seeds; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = make(rng);
    const std::optional<Optimum> optimum = ExhaustiveOptimum(example.problem());
    if (!optimum.has_value()) continue;
    const Instance instance = *MakeInstance(example.problem());
    const TreewidthResult result = Minimize(instance);
    if (!result.complete) {
      ++given_up;
      continue;
    }
    if (!result.choice.has_value()) {
      ADD_FAILURE() << "no choice";
      continue;
    }
    EXPECT_EQ(Scored(instance, *result.choice).num_recomputed, 0);
    const Selection selection = ToSelection(example.problem(), instance, *result.choice);
    EXPECT_TRUE(CheckSelection(example.problem(), selection).ok());
    EXPECT_NEAR(selection.cost, optimum->dag_cost, 1e-9);
    ++solved;
  }
  EXPECT_LE(given_up, solved / 50);
  return solved;
}

TEST(Treewidth, EqualsExhaustiveEnumeration) {
  EXPECT_GT(ExpectOptima(6000, [](Rng& rng) { return ExtractionCase::Random(rng, 8); }), 4000);
}

TEST(Treewidth, ComputesNothingTwiceToFuse) {
  const auto make = [](Rng& rng) { return ExtractionCase::RandomWithFusions(rng, 7); };
  EXPECT_GT(ExpectOptima(3000, make), 1800);
}

TEST(Treewidth, PaysForSharedKernelsOnce) {
  const auto make = [](Rng& rng) { return ExtractionCase::RandomWithSharedKernels(rng, 7); };
  EXPECT_GT(ExpectOptima(2000, make), 1200);
}

// Every level can lead back to itself and to the one above.
TEST(Treewidth, ClosesNoCycles) {
  const auto make = [](Rng& rng) { return ExtractionCase::RandomStrip(rng, 2, 4, 50); };
  EXPECT_GT(ExpectOptima(1000, make), 700);
}

TEST(Treewidth, AgreesWithBranchAndCut) {
  int solved = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::RandomStrip(rng, 3, 12, seed % 3 * 10);
    const auto instance = MakeInstance(example.problem());
    if (!instance.ok()) continue;
    const Choice tree = ChooseTree(*instance);
    const TreewidthResult result = Minimize(*instance);
    ASSERT_TRUE(result.complete && result.choice.has_value());
    const BranchAndCutResult other = BranchAndCut(*instance, tree.cost * 1.01, StopCondition());
    ASSERT_TRUE(other.choice.has_value());
    EXPECT_NEAR(Scored(*instance, *result.choice).cost, other.cost, 1e-6 * other.cost);
    ++solved;
  }
  EXPECT_GT(solved, 50);
}

TEST(Treewidth, LooksForWhatIsCheaperThanTheCutoff) {
  Rng rng(11);
  const ExtractionCase example = ExtractionCase::RandomStrip(rng, 3, 30);
  const Instance instance = *MakeInstance(example.problem());
  const double optimum = Scored(instance, *Minimize(instance).choice).cost;
  const TreewidthResult above = Minimize(instance, optimum * (1 + 1e-9));
  EXPECT_TRUE(above.complete);
  EXPECT_TRUE(above.choice.has_value());
  const TreewidthResult below = Minimize(instance, optimum * (1 - 1e-9));
  EXPECT_TRUE(below.complete);
  EXPECT_FALSE(below.choice.has_value());
}

// Roots that share nothing, one of them free.
TEST(Treewidth, SolvesPartsThatShareNothing) {
  const ExtractionCase example(
      5, {{0, 5, {}}, {0, 1, {1}}, {1, 2, {}}, {2, 4, {}}, {2, 1, {3}}, {3, 9, {}}, {4, 0, {}}},
      {0, 2, 4});
  const Instance instance = *MakeInstance(example.problem());
  const TreewidthResult result = Minimize(instance);
  ASSERT_TRUE(result.choice.has_value());
  EXPECT_EQ(Scored(instance, *result.choice).cost, 3 + 4);
  const TreewidthResult none = Minimize(instance, 7);  // each part alone is cheaper
  EXPECT_TRUE(none.complete);
  EXPECT_FALSE(none.choice.has_value());
}

TEST(Treewidth, TwoRunsAgree) {
  Rng rng(12);
  const ExtractionCase example = ExtractionCase::RandomStrip(rng, 4, 60, 5);
  const Instance instance = *MakeInstance(example.problem());
  EXPECT_EQ(*Minimize(instance).choice, *Minimize(instance).choice);
}

TEST(Treewidth, GivesUpOnWhatIsTooWideOrTooMuch) {
  Rng rng(13);
  const ExtractionCase example = ExtractionCase::RandomStrip(rng, 4, 60);
  const Instance instance = *MakeInstance(example.problem());
  EXPECT_FALSE(Minimize(instance, kAnyCost, {.max_width = 2}).complete);
  EXPECT_FALSE(Minimize(instance, kAnyCost, {.max_entries = 10}).complete);
  EXPECT_FALSE(Minimize(instance, kAnyCost, {.max_candidates_per_node = 1}).complete);
  EXPECT_TRUE(Minimize(instance, kAnyCost, {}).complete);
  const ExtractionCase wide = ExtractionCase::RandomStrip(rng, 40, 40);
  EXPECT_FALSE(Minimize(*MakeInstance(wide.problem()), kAnyCost, {}).complete);
}

TEST(Treewidth, StopsWhenAsked) {
  Rng rng(14);
  const ExtractionCase example = ExtractionCase::RandomStrip(rng, 4, 60);
  CancelToken token;
  token.Cancel();
  const TreewidthResult result =
      MinimizeByTreewidth(*MakeInstance(example.problem()), kAnyCost, kWide, StopCondition(&token));
  EXPECT_FALSE(result.complete);
  EXPECT_FALSE(result.choice.has_value());
}

}  // namespace
}  // namespace quotient::extract
