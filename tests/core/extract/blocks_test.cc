#include "core/extract/blocks.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/rng.h"
#include "core/extract/choice.h"
#include "core/extract/extract.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::CaseNode;
using ::quotient::testing::ExtractionCase;

// A class of `width` alternatives, each over a leaf of its own: a block if it is wide enough.
void AddFan(size_t id, size_t first_leaf, size_t width, std::vector<size_t> also,
            std::vector<CaseNode>& nodes) {
  for (size_t i = 0; i < width; ++i) {
    std::vector<size_t> children = also;
    children.push_back(first_leaf + i);
    nodes.push_back({id, 1, children});
    nodes.push_back({first_leaf + i, static_cast<double>(2 + i), {}});
  }
}

TEST(Blocks, AreCutWhereAllGoesThroughOneClass) {
  constexpr size_t kWidth = 20;
  // Two fans, one above the other, and a third that shares a leaf with the upper one.
  std::vector<CaseNode> nodes = {{0, 1, {1, 3}}};
  AddFan(1, 10, kWidth, {2}, nodes);
  AddFan(2, 10 + kWidth, kWidth, {}, nodes);
  AddFan(3, 10 + 2 * kWidth, kWidth, {}, nodes);
  const auto num_blocks = [](const std::vector<CaseNode>& all) {
    const ExtractionCase example(10 + 3 * kWidth, all, {0});
    const Instance instance = *MakeInstance(example.problem());
    return Blocks(instance).size();
  };
  EXPECT_EQ(num_blocks(nodes), 4);
  nodes.push_back({3, 1, {10}});  // a leaf of the upper fan: neither it nor the third is closed
  EXPECT_EQ(num_blocks(nodes), 2);
  nodes.push_back({2, 1, {1}});  // a cycle
  EXPECT_EQ(num_blocks(nodes), 1);
}

TEST(Blocks, ShareWhatIsFree) {
  constexpr size_t kWidth = 20;
  std::vector<CaseNode> nodes = {{0, 1, {1, 2}}, {3, 0, {}}};
  AddFan(1, 10, kWidth, {3}, nodes);
  AddFan(2, 10 + kWidth, kWidth, {3}, nodes);
  const ExtractionCase example(10 + 2 * kWidth, nodes, {0});
  const Instance instance = *MakeInstance(example.problem());
  EXPECT_EQ(Blocks(instance).size(), 3);
}

// A choice costs for the blocks one by one what it costs for the whole.
TEST(Blocks, AreTheWholeWhenTakenTogether) {
  size_t num_instances = 0, num_blocks = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::RandomWithFusions(rng, 60);
    const absl::StatusOr<Instance> instance = MakeInstance(example.problem());
    if (!instance.ok()) continue;
    Blocks blocks(*instance);
    ++num_instances;
    num_blocks += blocks.size();
    const Choice tree = ChooseTree(*instance);
    std::vector<double> cost(blocks.size());
    std::vector<Node> assembled = tree.nodes;
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (const uint32_t below : blocks.below(i)) ASSERT_LT(below, i);
      const Instance block = blocks.Make(i, cost);
      const Choice choice = Scored(block, ReadChoice(block, *instance, tree.nodes));
      cost[i] = choice.cost;
      WriteChoice(block, choice.nodes, *instance, assembled);
    }
    EXPECT_NEAR(cost.back(), tree.cost, 1e-9);
    const Choice again = Scored(*instance, assembled);
    EXPECT_NEAR(again.cost, tree.cost, 1e-9);
    EXPECT_EQ(again.num_recomputed, tree.num_recomputed);
  }
  EXPECT_GT(num_blocks, num_instances);  // Some have several.
}

}  // namespace
}  // namespace quotient::extract
