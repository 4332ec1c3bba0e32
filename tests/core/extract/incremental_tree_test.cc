#include "tests/support/egraph/incremental_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/rng.h"
#include "core/extract/bottom_up.h"
#include "core/extract/instance.h"
#include "tests/support/egraph/random_terms.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::extract {
namespace {

// By operator word. All sums of them are exact, or swallow the small ones whole: at some classes
// what is cheaper below makes no difference.
class WordCosts : public CostFunction {
 public:
  WordCosts(const EGraph& graph, uint64_t seed) : graph_(graph), seed_(seed) {}

  double Cost(ENodeId node) const override {
    ++num_asked;
    constexpr double kCosts[] = {0, 0, 0.5, 1, 1, 3, 0x1p100, kNever};
    return kCosts[(graph_.node(node).op.value() * 7 + seed_) % std::size(kCosts)];
  }

  mutable int64_t num_asked = 0;

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  const EGraph& graph_;
  const uint64_t seed_;
};

class Walk {
 public:
  explicit Walk(uint64_t seed)
      : rng_(seed), graph_(&table_, nullptr), costs_(graph_, seed), tree_(&costs_) {
    for (int i = 0; i < 5; ++i) Change();
  }

  // Marks, changes, perhaps goes deeper, and comes back or stays.
  void GoAndPerhapsComeBack(int depth) {
    graph_.Mark();
    tree_.Mark();
    Change();
    ExpectSameAsFromScratch();
    for (uint64_t i = rng_.Below(3); depth > 0 && i > 0; --i) GoAndPerhapsComeBack(depth - 1);
    if (rng_.Below(4) == 0) {
      graph_.Forget();
      tree_.Forget();
    } else {
      graph_.Rollback();
      tree_.Rollback(graph_);
    }
    ExpectSameAsFromScratch();
  }

  int64_t size() const { return graph_.num_enodes(); }

 private:
  void Change() {
    for (uint64_t i = 1 + rng_.Below(8); i > 0; --i) {
      const testing::RandomNode node = testing::MakeRandomNode(rng_, graph_.class_bound());
      std::vector<ClassId> children;
      for (size_t child : node.children) children.push_back(ClassId(static_cast<uint32_t>(child)));
      const egraph::Origin origin = rng_.Below(2) == 0 ? egraph::kInputOrigin : 1;
      ASSERT_TRUE(graph_.Add(table_.Op(node.word), children, origin).ok());
    }
    for (uint64_t i = rng_.Below(3); i > 0; --i) {
      ASSERT_TRUE(graph_.Union(AnyClass(), AnyClass()).ok());
    }
    if (rng_.Below(6) == 0) graph_.PruneToLeaves(AnyClass());
    ASSERT_TRUE(graph_.Rebuild().ok());
    // Others acknowledge, too, and do so at any time.
    if (rng_.Below(3) == 0) graph_.AcknowledgeChanges(/*keep=*/rng_.Below(2) == 0);
    tree_.Update(graph_);
  }

  ClassId AnyClass() { return ClassId(static_cast<uint32_t>(rng_.Below(graph_.class_bound()))); }

  void ExpectSameAsFromScratch() const {
    std::vector<ClassId> all;
    for (const ClassId id : graph_.classes()) all.push_back(id);
    const Instance instance = MakeReachableInstance({graph_, costs_, all});
    const BottomUpResult expected = MinimizeTreeCost(instance);
    ASSERT_EQ(instance.num_classes(), all.size());
    for (uint32_t i = 0; i < instance.num_classes(); ++i) {
      SCOPED_TRACE(instance.class_id[i].value());
      const Node choice = expected.choice[i];
      ASSERT_EQ(tree_.choice(instance.class_id[i]),
                choice.valid() ? instance.enode[choice.value()] : ENodeId());
      if (!choice.valid()) continue;
      ASSERT_EQ(tree_.cost(instance.class_id[i]), expected.value[i]);
    }
  }

  Rng rng_;
  testing::SymbolTable table_;
  EGraph graph_;
  WordCosts costs_;
  testing::IncrementalTree tree_;
};

TEST(IncrementalTree, IsTheTreeFromScratchAfterEachStepOfAnyWalk) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed);
    for (int i = 0; i < 4 && walk.size() < 200; ++i) {
      walk.GoAndPerhapsComeBack(3);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(IncrementalTree, LooksAtWhatChangedOnly) {
  testing::SymbolTable table;
  EGraph graph(&table, nullptr);
  const WordCosts costs(graph, 2);
  testing::IncrementalTree tree(&costs);
  ClassId top = *graph.Add(table.Op("a"), {});
  std::vector<ClassId> chain = {top};
  for (int i = 0; i < 10'000; ++i) {
    chain.push_back(*graph.Add(table.Op("f"), std::vector<ClassId>{chain.back()}));
  }
  ASSERT_TRUE(graph.Rebuild().ok());
  tree.Update(graph);
  EXPECT_LE(costs.num_asked, 4 * 10'000);

  // Two e-nodes below the tenth from the top, of which one is new there.
  costs.num_asked = 0;
  const ClassId place = chain[chain.size() - 10];
  const ClassId b = *graph.Add(table.Op("b"), {});
  ASSERT_TRUE(graph.Union(place, b).ok());
  ASSERT_TRUE(graph.Rebuild().ok());
  const double before = tree.cost(chain.back());
  tree.Update(graph);
  EXPECT_LT(tree.cost(chain.back()), before);
  EXPECT_LE(costs.num_asked, 40);
}

}  // namespace
}  // namespace quotient::extract
