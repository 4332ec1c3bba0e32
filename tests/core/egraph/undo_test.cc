// Time travel: after any walk of changes and rollbacks the whole image is what it was, byte for
// byte, and matching finds what it would have found.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/egraph/egraph.h"
#include "core/egraph/matcher.h"
#include "core/egraph/pattern.h"
#include "tests/support/egraph/random_terms.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

class Walk {
 public:
  explicit Walk(uint64_t seed)
      : rng_(seed), graph_(&table_, nullptr), vocabulary_(testing::SymbolVocabulary(table_)) {
    std::vector<const Rule*> pointers;
    for (int i = 0; i < 3; ++i) {
      rules_.push_back(*CompileRule(testing::MakeRandomRule(rng_), vocabulary_));
      pointers.push_back(rules_.back().get());
    }
    // Half of the walks with lists by kind, which are else for large classes.
    matcher_ = std::make_unique<Matcher>(table_, pointers, seed % 2 == 0 ? 0 : ClassLists::kLarge);
    Grow();
  }

  // Marks, changes, perhaps goes deeper, and comes back.
  void GoAndComeBack(int depth) {
    const std::vector<uint32_t> before = graph_.Save();
    const std::vector<size_t> waiting = Waiting();
    const Rng start = rng_;
    graph_.Mark();
    matcher_->Mark();
    Change();
    const std::vector<uint32_t> changed = graph_.Save();
    for (uint64_t i = rng_.Below(3); depth > 0 && i > 0; --i) GoAndComeBack(depth - 1);
    if (rng_.Below(4) == 0) GrowDirty();
    graph_.Rollback();
    matcher_->Rollback();
    ASSERT_EQ(graph_.Save(), before);
    ASSERT_EQ(Waiting(), waiting);
    // The same change again has the same outcome: nothing was forgotten that the image lacks.
    const Rng rest = std::exchange(rng_, start);
    graph_.Mark();
    matcher_->Mark();
    Change();
    ASSERT_EQ(graph_.Save(), changed);
    graph_.Rollback();
    matcher_->Rollback();
    rng_ = rest;
  }

  void Change() {
    if (rng_.Below(2) == 0) Grow();
    Matcher::Bounds bounds;
    for (size_t i = 0; i < rules_.size(); ++i) bounds.waiting.push_back(rng_.Below(6));
    matcher_->Search(graph_, bounds);
    int left = 20;
    ASSERT_TRUE(matcher_->ApplyAll(graph_, [&left] { return --left > 0; }).ok());
    ASSERT_TRUE(graph_.Rebuild().ok());
  }

  int64_t size() const { return graph_.num_enodes(); }

 private:
  std::vector<size_t> Waiting() const {
    std::vector<size_t> waiting;
    for (size_t i = 0; i < rules_.size(); ++i) waiting.push_back(matcher_->num_waiting(i));
    return waiting;
  }

  void GrowDirty() {
    for (uint64_t i = 1 + rng_.Below(12); i > 0; --i) {
      const testing::RandomNode node = testing::MakeRandomNode(rng_, graph_.class_bound());
      std::vector<ClassId> children;
      for (size_t child : node.children) children.push_back(ClassId(static_cast<uint32_t>(child)));
      ASSERT_TRUE(graph_.Add(table_.Op(node.word), children).ok());
    }
    for (uint64_t i = rng_.Below(3); i > 0; --i) {
      const ClassId a(static_cast<uint32_t>(rng_.Below(graph_.class_bound())));
      const ClassId b(static_cast<uint32_t>(rng_.Below(graph_.class_bound())));
      ASSERT_TRUE(graph_.Union(a, b).ok());
    }
    if (rng_.Below(8) == 0) {
      graph_.PruneToLeaves(ClassId(static_cast<uint32_t>(rng_.Below(graph_.class_bound()))));
    }
  }

  void Grow() {
    GrowDirty();
    ASSERT_TRUE(graph_.Rebuild().ok());
  }

  Rng rng_;
  testing::SymbolTable table_;
  EGraph graph_;
  Vocabulary vocabulary_;
  std::vector<std::unique_ptr<Rule>> rules_;
  std::unique_ptr<Matcher> matcher_;
};

TEST(EGraphUndo, RandomWalksComeBackByteForByte) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed);
    for (int i = 0; i < 4 && walk.size() < 300; ++i) {
      walk.GoAndComeBack(3);
      walk.Change();  // stays
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(EGraphUndo, AnImageLoadsIntoAnotherGraph) {
  testing::SymbolTable table;
  const Vocabulary vocabulary = testing::SymbolVocabulary(table);
  EGraph graph(&table, nullptr);
  const ClassId a = *AddTerm(graph, "(f (g a b))", vocabulary);
  ASSERT_TRUE(graph.Union(*AddTerm(graph, "a", vocabulary), *AddTerm(graph, "b", vocabulary)).ok());
  ASSERT_TRUE(graph.Rebuild().ok());
  const std::vector<uint32_t> image = graph.Save();
  EGraph other(&table, nullptr);
  other.Load(image);
  EXPECT_EQ(other.Save(), image);
  EXPECT_EQ(*AddTerm(other, "(f (g b a))", vocabulary), a);
  EXPECT_EQ(other.num_enodes(), graph.num_enodes());
  EXPECT_EQ(other.nodes_of_kind(table.KindOfName("g")).size(), 1u);
}

TEST(EGraphUndo, ForgettingAMarkKeepsTheChanges) {
  testing::SymbolTable table;
  EGraph graph(&table, nullptr);
  const ClassId a = *graph.Add(table.Op("a"), {});
  ASSERT_TRUE(graph.Rebuild().ok());
  graph.Mark();
  const std::vector<uint32_t> before = graph.Save();
  graph.Mark();
  ASSERT_TRUE(graph.Add(table.Op("f"), std::vector<ClassId>{a}).ok());
  ASSERT_TRUE(graph.Rebuild().ok());
  graph.Forget();
  EXPECT_EQ(graph.num_enodes(), 2);
  graph.Rollback();
  EXPECT_EQ(graph.Save(), before);
  EXPECT_EQ(graph.num_marks(), 0u);
}

}  // namespace
}  // namespace quotient::egraph
