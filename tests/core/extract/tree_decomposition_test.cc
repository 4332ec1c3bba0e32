#include "core/extract/tree_decomposition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/rng.h"

namespace quotient::extract {
namespace {

using Cliques = std::vector<std::vector<uint32_t>>;

std::optional<TreeDecomposition> Decomposed(uint32_t num_vertices, const Cliques& cliques,
                                            uint32_t max_width, const StopCondition& stop = {}) {
  egraph::GroupedList<uint32_t> list;
  for (const std::vector<uint32_t>& clique : cliques) {
    for (const uint32_t vertex : clique) list.Push(vertex);
    list.EndKey();
  }
  return Decompose(num_vertices, list, max_width, stop);
}

size_t Width(const TreeDecomposition& tree) {
  size_t width = 0;
  for (uint32_t bag = 0; bag < tree.size(); ++bag) {
    width = std::max(width, tree.neighbors[bag].size());
  }
  return width;
}

bool Has(const TreeDecomposition& tree, uint32_t bag, uint32_t vertex) {
  const auto neighbors = tree.neighbors[bag];
  return tree.vertex[bag] == vertex || std::ranges::find(neighbors, vertex) != neighbors.end();
}

// The bag right above, by `first`: the next whose part of the order has this one.
uint32_t Parent(const TreeDecomposition& tree, uint32_t bag) {
  uint32_t parent = bag + 1;
  while (parent < tree.size() && !tree.IsBelow(parent, bag)) ++parent;
  return parent;
}

void ExpectToBeOne(const TreeDecomposition& tree, const Cliques& cliques) {
  std::vector<uint32_t> num_children(tree.size() + 1, 0);
  for (uint32_t bag = 0; bag < tree.size(); ++bag) {
    ASSERT_EQ(tree.bag_of[tree.vertex[bag]], bag);
    const uint32_t parent = Parent(tree, bag);
    ++num_children[parent];
    // What a bag shares with any other one above it, its parent has, too.
    for (const uint32_t neighbor : tree.neighbors[bag]) {
      ASSERT_LT(parent, tree.size());
      ASSERT_TRUE(Has(tree, parent, neighbor));
      ASSERT_TRUE(tree.IsBelow(tree.bag_of[neighbor], bag));
    }
  }
  for (uint32_t bag = 0; bag < tree.size(); ++bag) {
    ASSERT_EQ(tree.num_children[bag], num_children[bag]);
  }
  for (const std::vector<uint32_t>& clique : cliques) {
    uint32_t lowest = static_cast<uint32_t>(tree.size());
    for (const uint32_t vertex : clique) lowest = std::min(lowest, tree.bag_of[vertex]);
    for (const uint32_t vertex : clique) ASSERT_TRUE(Has(tree, lowest, vertex));
  }
}

TEST(TreeDecomposition, OfRandomGraphsIsOne) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto num_vertices = static_cast<uint32_t>(1 + rng.Below(40));
    Cliques cliques(rng.Below(50));
    for (std::vector<uint32_t>& clique : cliques) {
      for (uint64_t i = 1 + rng.Below(4); i > 0; --i) {
        const auto vertex = static_cast<uint32_t>(rng.Below(num_vertices));
        if (std::ranges::find(clique, vertex) == clique.end()) clique.push_back(vertex);
      }
    }
    const auto tree = Decomposed(num_vertices, cliques, num_vertices);
    ASSERT_TRUE(tree.has_value());
    ASSERT_EQ(tree->size(), num_vertices);
    ExpectToBeOne(*tree, cliques);
    const auto width = static_cast<uint32_t>(Width(*tree));
    EXPECT_TRUE(Decomposed(num_vertices, cliques, width).has_value());
    if (width == 0) continue;
    // What has to wait for fewer neighbours can make another order, which is narrower.
    const auto narrower = Decomposed(num_vertices, cliques, width - 1);
    if (!narrower.has_value()) continue;
    ExpectToBeOne(*narrower, cliques);
    EXPECT_LT(Width(*narrower), width);
  }
}

TEST(TreeDecomposition, FindsTheWidthOfSimpleGraphs) {
  constexpr uint32_t kLength = 2000;
  Cliques path, cycle, grid;
  for (uint32_t i = 1; i < kLength; ++i) path.push_back({i - 1, i});
  cycle = path;
  cycle.push_back({kLength - 1, 0});
  constexpr uint32_t kSide = 4;
  for (uint32_t i = 0; i < kLength; ++i) {
    if (i % kSide > 0) grid.push_back({i - 1, i});
    if (i >= kSide) grid.push_back({i - kSide, i});
  }
  EXPECT_EQ(Width(*Decomposed(kLength, path, 9)), 1);
  EXPECT_EQ(Width(*Decomposed(kLength, cycle, 9)), 2);
  EXPECT_EQ(Width(*Decomposed(kLength, grid, 9)), kSide);
  EXPECT_EQ(Width(*Decomposed(5, {{0, 1, 2, 3, 4}}, 4)), 4);
}

TEST(TreeDecomposition, GivesUpWhereItIsTooWideOrStopped) {
  Cliques grid;
  constexpr uint32_t kSide = 30;
  for (uint32_t i = 0; i < kSide * kSide; ++i) {
    if (i % kSide > 0) grid.push_back({i - 1, i});
    if (i >= kSide) grid.push_back({i - kSide, i});
  }
  EXPECT_FALSE(Decomposed(kSide * kSide, grid, 10).has_value());
  EXPECT_FALSE(Decomposed(5, {{0, 1, 2, 3, 4}}, 3).has_value());
  CancelToken token;
  token.Cancel();
  EXPECT_FALSE(Decomposed(2, {{0, 1}}, 3, StopCondition(&token)).has_value());
}

}  // namespace
}  // namespace quotient::extract
