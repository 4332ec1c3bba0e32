// Local search alone, from the choice of least tree cost: where it ends no single move is left that
// pays, and the moves of several classes at once find what single ones cannot.

#include "core/extract/local_search.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "core/base/rng.h"
#include "core/extract/bottom_up.h"
#include "core/extract/components.h"
#include "core/extract/shared_selection.h"
#include "core/extract/to_selection.h"
#include "tests/support/countdown_clock.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using testing::ExtractionCase;
using Depth = LocalSearch::Depth;

// A search on an example, and the selection that it changes.
class Searched {
 public:
  Searched(const ExtractionCase& example, Instance instance, Depth depth,
           const StopCondition& stop = {})
      : problem_(example.problem()),
        instance_(std::move(instance)),
        components_(StrongComponents(instance_)),
        selection_(instance_, components_, MinimizeTreeCost(instance_).choice),
        cost_before_(selection_.cost()) {
    LocalSearch(instance_, FindUsers(instance_), selection_, depth, stop).Run();
  }
  Searched(const ExtractionCase& example, Depth depth)
      : Searched(example, *MakeInstance(example.problem()), depth) {}

  double cost_before() const { return cost_before_; }
  double cost() const { return selection_.cost(); }
  SharedSelection& selection() { return selection_; }
  const Instance& instance() const { return instance_; }
  // The checked cost.
  absl::StatusOr<double> Check() const {
    return CheckSelection(problem_, ToSelection(problem_, instance_, selection_.choices()));
  }

 private:
  const Problem problem_;
  const Instance instance_;
  const std::vector<uint32_t> components_;
  SharedSelection selection_;
  const double cost_before_;
};

// Whether another node of some class would make the selection cheaper without closing a cycle.
bool SomeSwitchPays(Searched& searched) {
  SharedSelection& selection = searched.selection();
  const double least = selection.cost() - 1e-6;
  for (uint32_t id = 0; id < searched.instance().num_classes(); ++id) {
    if (!selection.live(Class(id))) continue;
    std::vector<Node> cheaper;
    selection.ForEachSwitch(Class(id), least,
                            [&](Node node, const Score&) { cheaper.push_back(node); });
    for (const Node node : cheaper) {
      const size_t mark = selection.Mark();
      if (selection.Choose(node)) return true;
      selection.UndoTo(mark);
    }
  }
  return false;
}

TEST(LocalSearch, EndsInASelectionThatNoSwitchMakesCheaper) {
  int improved = 0, missed = 0, solvable = 0;
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::Random(rng, 8);
    absl::StatusOr<Instance> instance = MakeInstance(example.problem());
    if (!instance.ok()) continue;
    Searched searched(example, *std::move(instance), Depth::kOne);
    ++solvable;
    const absl::StatusOr<double> cost = searched.Check();
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_EQ(*cost, searched.cost());
    EXPECT_LE(searched.cost(), searched.cost_before());
    EXPECT_FALSE(SomeSwitchPays(searched));
    const std::optional<testing::Optimum> optimum = testing::ExhaustiveOptimum(example.problem());
    EXPECT_GE(searched.cost(), optimum->dag_cost);
    improved += searched.cost() < searched.cost_before();
    missed += searched.cost() > optimum->dag_cost;
  }
  EXPECT_GT(improved, 20);
  EXPECT_LT(missed, solvable / 50);  // From one start, without blocks.
}

// Two products, or one that is cut in two. A single product that is cut costs more than it saves.
TEST(LocalSearch, AdoptsASharedClassInAllItsUsersAtOnce) {
  constexpr size_t kRoot = 0, kFirst = 1, kSecond = 2, kMerged = 3;
  const ExtractionCase example(4,
                               {{kRoot, 0, {kFirst, kSecond}},
                                {kFirst, 6, {}},
                                {kFirst, 1, {kMerged}},
                                {kSecond, 6, {}},
                                {kSecond, 1, {kMerged}},
                                {kMerged, 8, {}}},
                               {kRoot});
  const Searched searched(example, Depth::kOne);
  EXPECT_EQ(searched.cost_before(), 12);
  EXPECT_EQ(searched.cost(), 10);
}

// A second adoption on top of one that does not pay by itself.
TEST(LocalSearch, TheDeepOneFindsMore) {
  double one = 0, two = 0;
  int better = 0;
  for (uint64_t seed = 0; seed < 6'000; ++seed) {
    Rng rng(seed);
    const ExtractionCase example = seed % 2 == 0 ? ExtractionCase::RandomWithFusions(rng, 12)
                                                 : ExtractionCase::RandomWithSharedKernels(rng, 12);
    absl::StatusOr<Instance> instance = MakeInstance(example.problem());
    if (!instance.ok()) continue;
    const Searched shallow(example, *instance, Depth::kOne);
    const Searched deep(example, *std::move(instance), Depth::kTwo);
    one += shallow.cost();
    two += deep.cost();
    better += deep.cost() < shallow.cost() - 1e-6;
  }
  EXPECT_GT(better, 0);
  EXPECT_LT(two, one);
}

// Whenever time is up, what is left is a selection, and no worse than the start.
TEST(LocalSearch, MayBeStoppedAtAnyMoment) {
  Rng rng(3);
  const ExtractionCase example = ExtractionCase::RandomStrip(rng, 6, 40, 10);
  const Instance instance = *MakeInstance(example.problem());
  const testing::CountdownClock too_late(0);
  const Searched stopped(example, instance, Depth::kTwo, too_late.Stop());
  EXPECT_EQ(stopped.cost(), stopped.cost_before());
  double last = 0;
  for (int64_t looks = 0; looks < 5'000; looks = looks * 3 / 2 + 1) {
    SCOPED_TRACE(looks);
    const testing::CountdownClock clock(looks);
    const Searched searched(example, instance, Depth::kTwo, clock.Stop());
    const absl::StatusOr<double> cost = searched.Check();
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_LE(*cost, searched.cost_before() + 1e-9);
    last = searched.cost();
  }
  EXPECT_EQ(last, Searched(example, Depth::kTwo).cost());
}

// Each class of a chain could do without all that is below it, which is a little cheaper.
TEST(LocalSearch, TakesStepsInProportionToTheGraph) {
  constexpr size_t kDepth = 20'000;
  std::vector<testing::CaseNode> nodes = {{0, 1, {}}, {1, 1, {}}};
  for (size_t i = 2; i < kDepth; ++i) {
    nodes.push_back({i, 1, {i - 1}});
    nodes.push_back({i, static_cast<double>(i) + 10, {0}});
  }
  const ExtractionCase example(kDepth, nodes, {kDepth - 1});
  Searched searched(example, Depth::kOne);
  EXPECT_LT(searched.selection().steps(), int64_t{10'000'000} + 300 * int64_t{kDepth});
}

}  // namespace
}  // namespace quotient::extract
