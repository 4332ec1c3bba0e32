// Cycles: refused exactly where a copy of the graph without the guard would have one, and marked so
// that what is left has none and lacks no class.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/egraph/egraph.h"
#include "tests/support/egraph/random_terms.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

// Whether some class contains itself through live e-nodes that are not marked. By depth-first
// search.
bool HasCycle(const EGraph& graph) {
  enum class Color { kNew, kOpen, kDone };
  std::vector<Color> colors(graph.class_bound(), Color::kNew);
  const std::function<bool(ClassId)> visit = [&](ClassId id) {
    Color& color = colors[id.value()];
    if (color != Color::kNew) return color == Color::kOpen;
    color = Color::kOpen;
    for (const ENodeId node : graph.nodes(id)) {
      if (graph.on_cycle(node)) continue;
      for (const ClassId child : graph.node(node).children) {
        if (visit(child)) return true;
      }
    }
    color = Color::kDone;
    return false;
  };
  for (const ClassId id : graph.classes()) {
    if (visit(id)) return true;
  }
  return false;
}

class Walk {
 public:
  explicit Walk(uint64_t seed, Cycles policy) : rng_(seed) { graph_.WatchCycles(policy); }

  EGraph& graph() { return graph_; }
  EGraph& reference() { return reference_; }

  // The same e-nodes for both.
  void Grow() {
    for (uint64_t i = 1 + rng_.Below(8); i > 0; --i) {
      const testing::RandomNode node = testing::MakeRandomNode(rng_, graph_.class_bound());
      std::vector<ClassId> children;
      for (size_t child : node.children) children.push_back(ClassId(static_cast<uint32_t>(child)));
      ASSERT_TRUE(graph_.Add(table_.Op(node.word), children).ok());
      ASSERT_TRUE(reference_.Add(table_.Op(node.word), children).ok());
    }
    ASSERT_TRUE(graph_.Rebuild().ok() && reference_.Rebuild().ok());
  }

  ClassId RandomClass() { return ClassId(static_cast<uint32_t>(rng_.Below(graph_.class_bound()))); }

 private:
  Rng rng_;
  testing::SymbolTable table_;
  EGraph graph_{&table_, nullptr};
  EGraph reference_{&table_, nullptr};
};

TEST(EGraphCycles, RefusesExactlyWhatClosesOne) {
  int refused = 0, allowed = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed, Cycles::kRefused);
    EGraph& graph = walk.graph();
    EGraph& reference = walk.reference();
    for (int i = 0; i < 20; ++i) {
      if (i % 3 == 0) walk.Grow();
      const ClassId a = walk.RandomClass(), b = walk.RandomClass();
      reference.Mark();
      ASSERT_TRUE(reference.Union(a, b).ok());
      ASSERT_TRUE(reference.Rebuild().ok());
      const bool cyclic = HasCycle(reference);
      const std::vector<uint32_t> before = graph.Save();
      graph.Mark();
      const absl::Status united = graph.Union(a, b).status();
      const absl::Status rebuilt = united.ok() ? graph.Rebuild() : united;
      ASSERT_EQ(rebuilt.ok(), !cyclic) << rebuilt;
      if (cyclic) {
        ASSERT_EQ(rebuilt.code(), absl::StatusCode::kFailedPrecondition);
        if (!united.ok()) {
          ASSERT_EQ(graph.Save(), before);
        }
        graph.Rollback();
        reference.Rollback();
        ASSERT_EQ(graph.Save(), before);
        ++refused;
      } else {
        graph.Forget();
        reference.Forget();
        ASSERT_EQ(graph.num_enodes(), reference.num_enodes());
        ++allowed;
      }
      for (const ENodeId node : graph.nodes(graph.Find(a))) {
        for (const ClassId child : graph.node(node).children) {
          ASSERT_LT(graph.level(child), graph.level(a));
        }
      }
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(allowed, 500);
}

TEST(EGraphCycles, WhatIsNotMarkedHasNoneAndLacksNoClass) {
  int marked = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed, Cycles::kMarked);
    EGraph& graph = walk.graph();
    bool was_cyclic = false;
    for (int i = 0; i < 10; ++i) {
      walk.Grow();
      for (int k = 0; k < 3; ++k) {
        const ClassId a = walk.RandomClass(), b = walk.RandomClass();
        ASSERT_TRUE(graph.Union(a, b).ok() && walk.reference().Union(a, b).ok());
      }
      ASSERT_TRUE(graph.Rebuild().ok() && walk.reference().Rebuild().ok());
      ASSERT_EQ(graph.num_enodes(), walk.reference().num_enodes());
      ASSERT_FALSE(HasCycle(graph));
      was_cyclic |= HasCycle(walk.reference());
      for (const ClassId id : graph.classes()) {
        int ordered = 0;
        for (const ENodeId node : graph.nodes(id)) {
          if (graph.on_cycle(node)) {
            ASSERT_TRUE(was_cyclic);
            ++marked;
            continue;
          }
          ++ordered;
          for (const ClassId child : graph.node(node).children) {
            ASSERT_LT(graph.level(child), graph.level(id));
          }
        }
        ASSERT_GT(ordered, 0);
      }
    }
  }
  EXPECT_GT(marked, 500);
}

}  // namespace
}  // namespace quotient::egraph
