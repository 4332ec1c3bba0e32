// Trees that are written in the middle of a search, and read.

#include <gtest/gtest.h>

#include <vector>

#include "tests/core/search/search_world.h"

namespace quotient::search {
namespace {

// A world in which some simulations are done and more are under way, some of which open a node.
struct HalfDone {
  HalfDone() {
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(world.Simulate());
    const auto has_all = [this] {
      return leaves.size() >= 16 && !opens.path.empty() && !widens.path.empty();
    };
    for (SearchTree::Leaf leaf; !has_all() && world.tree().Select(&leaf);) {
      leaves.push_back(leaf);
      (leaf.priors.has_value() ? opens : widens) = leaf;
    }
    EXPECT_GE(leaves.size(), 16u);
    EXPECT_FALSE(opens.path.empty());
    EXPECT_FALSE(widens.path.empty());
  }

  World world{12, {{0b11, 5}, {0b10110, 3}}};
  std::vector<SearchTree::Leaf> leaves;
  SearchTree::Leaf opens, widens;
};

TEST(TreeRecord, OneThatWasReadGoesOnAsTheOneThatWasWritten) {
  HalfDone half;
  World& world = half.world;
  World read(12, {{0b11, 5}, {0b10110, 3}});
  ASSERT_TRUE(read.Read(world.Written()));
  EXPECT_EQ(read.tree().num_states(), world.tree().num_states());
  EXPECT_EQ(read.tree().best_cost(), world.tree().best_cost());
  std::vector<SearchTree::Leaf> again = half.leaves;
  for (SearchTree::Leaf& leaf : again) {
    leaf.nodes.clear();
    leaf.path.clear();
    ASSERT_TRUE(read.tree().RestoreLeaf(&leaf));
  }
  for (size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].path, half.leaves[i].path);
    world.Observe(half.leaves[i]);
    read.Observe(again[i]);
  }
  for (bool more = true; more;) {
    SearchTree::Leaf leaf, same;
    more = world.tree().Select(&leaf);
    ASSERT_EQ(read.tree().Select(&same), more);
    EXPECT_EQ(same.path, leaf.path);
    EXPECT_EQ(same.tries, leaf.tries);
    if (more) world.Observe(leaf);
    if (more) read.Observe(same);
  }
  EXPECT_TRUE(read.tree().exhausted());
  EXPECT_EQ(read.Written(), world.Written());
}

TEST(TreeRecord, OnlyWhatIsUnderWayIsTakenUp) {
  HalfDone half;
  World read(12, {});
  ASSERT_TRUE(read.Read(half.world.Written()));
  const auto expect_refused = [&](SearchTree::Leaf leaf, const auto& change) {
    change(leaf);
    EXPECT_FALSE(read.tree().RestoreLeaf(&leaf));
  };
  expect_refused(half.widens, [](auto& leaf) { leaf.edges[0] = 1000; });
  expect_refused(half.widens, [](auto& leaf) { leaf.first_edge = 1000; });
  expect_refused(half.widens, [](auto& leaf) { leaf.tries.resize(1000, leaf.tries[0]); });
  expect_refused(half.widens, [](auto& leaf) { leaf.tries[0].rule ^= 1; });
  expect_refused(half.widens, [&](auto& leaf) { leaf.priors = half.opens.priors; });
  expect_refused(half.opens, [](auto& leaf) { leaf.edges.pop_back(); });
  for (SearchTree::Leaf leaf : {half.widens, half.opens}) {
    const std::vector<SearchTree::NodeId> nodes = leaf.nodes;
    EXPECT_TRUE(read.tree().RestoreLeaf(&leaf));
    EXPECT_EQ(leaf.nodes, nodes);
    EXPECT_FALSE(read.tree().RestoreLeaf(&leaf)) << "twice";
  }
}

TEST(TreeRecord, OneOfMoreRulesIsNotRead) {
  HalfDone half;
  World fewer(11, {});
  EXPECT_FALSE(fewer.Read(half.world.Written()));
}

}  // namespace
}  // namespace quotient::search
