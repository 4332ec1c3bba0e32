#include "core/extract/dominators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/rng.h"

namespace quotient::extract {
namespace {

using Graph = egraph::GroupedList<uint32_t>;

// What the start reaches without `avoided`.
std::vector<bool> Reach(const Graph& graph, size_t size, uint32_t avoided) {
  std::vector<bool> reached(size, false);
  std::vector<uint32_t> open;
  const auto reach = [&](uint32_t vertex) {
    if (vertex == avoided || reached[vertex]) return;
    reached[vertex] = true;
    open.push_back(vertex);
  };
  reach(0);
  while (!open.empty()) {
    const uint32_t vertex = open.back();
    open.pop_back();
    for (const uint32_t to : graph[vertex]) reach(to);
  }
  return reached;
}

// A vertex is dominated by those without which the start does not reach it.
TEST(Dominators, AreThoseThatCannotBeAvoided) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto size = static_cast<uint32_t>(1 + rng.Below(12));
    Graph graph;
    for (uint32_t i = 0; i < size; ++i) {
      for (uint64_t n = rng.Below(3); n > 0; --n) {
        graph.Push(static_cast<uint32_t>(rng.Below(size)));
      }
      graph.EndKey();
    }
    const DominatorTree tree = Dominators(graph, 0);
    const std::vector<bool> reached = Reach(graph, size, size);
    ASSERT_EQ(tree.order.size(), static_cast<size_t>(std::ranges::count(reached, true)));
    for (uint32_t i = 1; i < tree.order.size(); ++i) {
      std::vector<bool> dominates(size, false);
      for (uint32_t above = i; above != 0;) {
        ASSERT_LT(tree.parent[above], above);
        above = tree.parent[above];
        dominates[tree.order[above]] = true;
      }
      for (uint32_t other = 0; other < size; ++other) {
        if (other == tree.order[i]) continue;
        const bool avoidable = Reach(graph, size, other)[tree.order[i]];
        EXPECT_EQ(dominates[other], reached[other] && !avoidable) << other;
      }
    }
  }
}

// Two long paths with a vertex below each pair: walks up both would be quadratic.
TEST(Dominators, LongPathsTakeNoStackAndLittleTime) {
  constexpr uint32_t kLength = 200'000;
  Graph graph(3 * kLength + 1);
  const auto for_each_edge = [](const auto& visit) {
    for (uint32_t side = 0; side < 2; ++side) {
      uint32_t above = 0;
      for (uint32_t i = 0; i < kLength; ++i) {
        const uint32_t vertex = 1 + 3 * i + side;
        visit(above, vertex);
        visit(vertex, 3 + 3 * i);
        above = vertex;
      }
    }
  };
  for_each_edge([&](uint32_t from, uint32_t) { graph.Count(from); });
  graph.Allocate();
  for_each_edge([&](uint32_t from, uint32_t to) { graph.Append(from, to); });
  const DominatorTree tree = Dominators(graph, 0);
  ASSERT_EQ(tree.order.size(), 3 * kLength + 1);
  for (uint32_t i = 1; i < tree.order.size(); ++i) {
    const uint32_t vertex = tree.order[i];
    if (vertex % 3 == 0) {
      EXPECT_EQ(tree.parent[i], 0);
    } else {
      EXPECT_EQ(tree.order[tree.parent[i]], vertex <= 2 ? 0 : vertex - 3);
    }
  }
}

}  // namespace
}  // namespace quotient::extract
