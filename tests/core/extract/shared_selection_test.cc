#include "core/extract/shared_selection.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/rng.h"
#include "core/extract/bottom_up.h"
#include "core/extract/components.h"
#include "core/extract/to_selection.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

TEST(SharedSelection, KnowsItsCostAfterAnyMovesAndUndoes) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto example = testing::ExtractionCase::Random(rng, 12);
    const absl::StatusOr<Instance> instance = MakeInstance(example.problem());
    if (!instance.ok()) continue;
    const std::vector<uint32_t> components = StrongComponents(*instance);
    SharedSelection selection(*instance, components, MinimizeTreeCost(*instance).choice);
    std::vector<Node> before = selection.choices();
    size_t mark = selection.Mark();
    for (int i = 0; i < 40; ++i) {
      if (rng.Below(8) == 0) {
        selection.UndoTo(mark);
        ASSERT_EQ(selection.choices(), before);
      } else if (rng.Below(8) == 0) {
        mark = selection.Mark();
        before = selection.choices();
      } else {
        selection.Choose(Node(static_cast<uint32_t>(rng.Below(instance->num_nodes()))));
      }
      // Costs are small integers: sums are exact.
      const Selection fresh = ToSelection(example.problem(), *instance, selection.choices());
      ASSERT_EQ(selection.cost(), fresh.cost);
      int64_t live = 0;
      for (uint32_t id = 0; id < instance->num_classes(); ++id) {
        const bool needed = fresh.of(instance->class_id[id]).valid();
        ASSERT_EQ(selection.live(Class(id)), needed);
        live += needed;
      }
      ASSERT_EQ(selection.score().num_live, live);
    }
    EXPECT_EQ(selection.cost(),
              ToSelection(example.problem(), *instance, selection.choices()).cost);
  }
}

// The dear e-node comes and goes: nothing is left of it, not even rounding.
TEST(SharedSelection, IsExactHoweverLargeOtherCostsAre) {
  const testing::ExtractionCase example(
      3, {{0, 0.1, {}}, {1, 0.2, {0}}, {1, 3e5, {}}, {2, 0.3, {0, 1}}}, {2});
  const Instance instance = *MakeInstance(example.problem());
  const std::vector<uint32_t> components = StrongComponents(instance);
  SharedSelection selection(instance, components, MinimizeTreeCost(instance).choice);
  const double before = selection.cost();
  EXPECT_NEAR(before, 0.6, 1e-9);
  for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
    const size_t mark = selection.Mark();
    ASSERT_TRUE(selection.Choose(Node(i)));
    selection.UndoTo(mark);
    EXPECT_EQ(selection.cost(), before);
  }
}

// What a switch would make of it is what Choose makes of it.
TEST(SharedSelection, ForeseesSwitches) {
  int switches = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto example = testing::ExtractionCase::RandomWithFusions(rng, 10);
    const absl::StatusOr<Instance> instance = MakeInstance(example.problem());
    if (!instance.ok()) continue;
    const std::vector<uint32_t> components = StrongComponents(*instance);
    SharedSelection selection(*instance, components, MinimizeTreeCost(*instance).choice);
    for (uint32_t id = 0; id < instance->num_classes(); ++id) {
      if (!selection.live(Class(id))) continue;
      std::vector<std::pair<Node, Score>> foreseen;
      selection.ForEachSwitch(Class(id), 1e9, [&](Node node, const Score& score) {
        foreseen.emplace_back(node, score);
      });
      for (const auto& [node, score] : foreseen) {
        const size_t mark = selection.Mark();
        if (!selection.Choose(node)) continue;
        ++switches;
        const SharedSelection fresh(*instance, components, selection.choices());
        for (const Score& real : {selection.score(), fresh.score()}) {
          EXPECT_NEAR(real.cost, score.cost, 1e-9);
          EXPECT_EQ(real.num_recomputed, score.num_recomputed);
          EXPECT_EQ(real.num_live, score.num_live);
          EXPECT_EQ(real.num_rewritten, score.num_rewritten);
        }
        selection.UndoTo(mark);
      }
    }
  }
  EXPECT_GT(switches, 500);
}

}  // namespace
}  // namespace quotient::extract
