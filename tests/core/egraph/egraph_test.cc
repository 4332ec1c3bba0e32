#include "core/egraph/egraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/egraph/algebra_domain.h"
#include "tests/support/egraph/state_image.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EGraphTest : public ::testing::Test {
 protected:
  ClassId Add(absl::string_view word, std::vector<ClassId> children = {},
              Origin origin = kInputOrigin) {
    return *graph_.Add(table_.Op(word), children, origin);
  }
  void Union(ClassId a, ClassId b) { ASSERT_TRUE(graph_.Union(a, b, 1).ok()); }
  void Rebuild() { ASSERT_TRUE(graph_.Rebuild().ok()); }

  testing::SymbolTable table_;
  EGraph graph_{&table_, nullptr};
};

TEST_F(EGraphTest, EqualENodesAreOne) {
  const ClassId a = Add("a");
  const ClassId fa = Add("f", {a});
  EXPECT_EQ(Add("f", {a}), fa);
  EXPECT_NE(Add("f", {fa}), fa);
  EXPECT_NE(Add("g", {a}), fa);
  EXPECT_NE(Add("f", {a, a}), fa);
  Rebuild();
  EXPECT_EQ(graph_.num_enodes(), 5);
  EXPECT_EQ(graph_.num_classes(), 5);
}

TEST_F(EGraphTest, CongruenceClimbs) {
  const ClassId a = Add("a");
  const ClassId b = Add("b");
  const ClassId ffa = Add("f", {Add("f", {a})});
  const ClassId ffb = Add("f", {Add("f", {b})});
  Union(a, b);
  EXPECT_TRUE(graph_.dirty());
  Rebuild();
  EXPECT_FALSE(graph_.dirty());
  EXPECT_EQ(graph_.Find(ffa), graph_.Find(ffb));
  EXPECT_EQ(graph_.num_enodes(), 4);
  EXPECT_EQ(graph_.num_classes(), 3);
}

// All its children are absorbed at once, but its key is made anew once.
TEST_F(EGraphTest, CongruenceOfAnENodeOfManyChildren) {
  constexpr int kCount = 60'000;
  std::vector<ClassId> before, after;
  for (int i = 0; i < kCount; ++i) {
    after.push_back(Add(absl::StrCat("a", i)));
    before.push_back(Add(absl::StrCat("b", i)));
  }
  const ClassId wide = Add("f", before);
  for (int i = 0; i < kCount; ++i) Union(after[i], before[i]);
  Rebuild();
  EXPECT_EQ(Add("f", after), graph_.Find(wide));
}

TEST_F(EGraphTest, ATermMayEqualAPartOfItself) {
  const ClassId x = Add("x");
  const ClassId fx = Add("f", {x});
  const ClassId ffx = Add("f", {fx});
  Union(fx, x);
  Rebuild();
  EXPECT_EQ(graph_.Find(ffx), graph_.Find(x));
  EXPECT_EQ(graph_.num_enodes(), 2);
  EXPECT_THAT(graph_.parents(x), ElementsAre(ENodeId(1)));
}

TEST_F(EGraphTest, IndexesHoldEachENodeOnce) {
  const ClassId a = Add("a");
  const ClassId b = Add("b");
  const ClassId gaa = Add("g", {a, a});  // e-node 2
  const ClassId gab = Add("g", {a, b});  // e-node 3
  Union(gab, gaa);
  Rebuild();
  // The class that was kept comes first; parents are newest first, those of a kind oldest first.
  EXPECT_THAT(graph_.nodes(gaa), ElementsAre(ENodeId(2), ENodeId(3)));
  EXPECT_THAT(graph_.parents(a), ElementsAre(ENodeId(3), ENodeId(2)));
  EXPECT_THAT(graph_.parents(b), ElementsAre(ENodeId(3)));
  EXPECT_THAT(graph_.nodes_of_kind(table_.KindOfName("g")), ElementsAre(ENodeId(2), ENodeId(3)));
  EXPECT_THAT(graph_.nodes_of_kind(table_.KindOfName("unused")), IsEmpty());
  EXPECT_THAT(graph_.classes(), ElementsAre(a, b, graph_.Find(gaa)));
}

TEST_F(EGraphTest, TheOlderOfCongruentENodesStays) {
  const ClassId a = Add("a");
  const ClassId b = Add("b");
  const ClassId fa = Add("f", {a}, 0);
  const ClassId fb = Add("f", {b}, 5);
  for (int i = 0; i < 3; ++i) Add("g", {b, Add("c" + std::to_string(i))});  // b is kept
  Union(a, b);
  Rebuild();
  ASSERT_EQ(graph_.Find(fa), graph_.Find(fb));
  ASSERT_THAT(graph_.nodes(fa), ElementsAre(ENodeId(2)));
  EXPECT_EQ(graph_.origin(ENodeId(2)), 0u);
}

TEST_F(EGraphTest, LookupFindsModuloEqualityAndAddsNothing) {
  const ClassId a = Add("a");
  const ClassId b = Add("b");
  const ClassId fa = Add("f", {a});
  Union(a, b);
  Rebuild();
  EXPECT_EQ(graph_.Lookup(table_.Op("f"), std::vector<ClassId>{b}), graph_.Find(fa));
  EXPECT_EQ(graph_.Lookup(table_.Op("g"), std::vector<ClassId>{b}), std::nullopt);
  EXPECT_EQ(graph_.enode_bound(), 3u);
}

TEST_F(EGraphTest, AddTakesChildrenThatPointIntoTheGraph) {
  ClassId top = Add("g", {Add("a"), Add("b")});
  for (int i = 0; i < 100; ++i) {
    const ENodeId last(graph_.enode_bound() - 1);
    top = *graph_.Add(table_.Op("h" + std::to_string(i)), graph_.node(last).children);
  }
  Rebuild();
  EXPECT_THAT(graph_.node(graph_.nodes(top)[0]).children, ElementsAre(ClassId(0), ClassId(1)));
}

// An e-node that gets a new key just when the table of keys is full.
TEST_F(EGraphTest, ARekeyedENodeIsFoundWhereverTheTableOfKeysGrows) {
  for (int leaves = 2; leaves < 200; ++leaves) {
    EGraph graph(&table_, nullptr);
    std::vector<ClassId> x;
    for (int i = 0; i < leaves; ++i) x.push_back(*graph.Add(table_.Op(absl::StrCat("x", i)), {}));
    const ClassId f = *graph.Add(table_.Op("f"), std::vector<ClassId>{x[0]});
    const ClassId g = *graph.Add(table_.Op("g"), std::vector<ClassId>{x[1]});
    ASSERT_TRUE(graph.Union(x[0], x[1]).ok());
    ASSERT_TRUE(graph.Rebuild().ok());
    ASSERT_EQ(graph.Lookup(table_.Op("f"), std::vector<ClassId>{x[1]}), f) << leaves;
    ASSERT_EQ(graph.Lookup(table_.Op("g"), std::vector<ClassId>{x[0]}), g) << leaves;
  }
}

TEST_F(EGraphTest, UnionsAreRecordedWithTheirOrigin) {
  graph_.RecordProofs();
  const ClassId a = Add("a");
  const ClassId b = Add("b");
  Add("f", {a});
  Add("f", {b});
  EXPECT_TRUE(*graph_.Union(a, b, 7));
  EXPECT_FALSE(*graph_.Union(b, a, 8));
  Rebuild();
  const std::span<const UnionRecord> unions = graph_.proofs()->unions();
  ASSERT_EQ(unions.size(), 2u);
  EXPECT_EQ(unions[0].origin, 7u);
  EXPECT_EQ(unions[1].origin, kCongruence);
}

TEST_F(EGraphTest, PruningHoldsForTheClassThatAbsorbs) {
  const ClassId pruned = Add("f", {Add("a")});
  const ClassId other = Add("b");
  Union(other, Add("g", {Add("a")}));
  for (int i = 0; i < 3; ++i) Add("h", {other, Add("c" + std::to_string(i))});  // other is kept
  graph_.PruneToLeaves(pruned);
  Union(pruned, other);
  Rebuild();
  ASSERT_EQ(graph_.nodes(other).size(), 1u);
  EXPECT_EQ(table_.Name(graph_.node(graph_.nodes(other)[0]).op), "b");
  EXPECT_EQ(graph_.num_enodes(), 8);  // a, b, c0 to c2, three h; no f and g
}

// A chain f(f(..(a))) next to f(f(..(b))), a = b: one repair per level, each once.
TEST_F(EGraphTest, DeepCongruenceTakesNoStack) {
  ClassId left = Add("a");
  ClassId right = Add("b");
  const ClassId a = left;
  const ClassId b = right;
  for (int i = 0; i < 20'000; ++i) {
    left = Add("f", {left});
    right = Add("f", {right});
  }
  Union(a, b);
  Rebuild();
  EXPECT_EQ(graph_.Find(left), graph_.Find(right));
  EXPECT_EQ(graph_.num_enodes(), 20'002);
}

// Refuses e-nodes of one word and unions of everything.
class Refusing : public Analysis {
 public:
  absl::Status Make(const EGraph& graph, OpId op, std::span<const ClassId>, ClassId) override {
    if (graph.table().Name(op) == "bad") return absl::InvalidArgumentError("ill-typed");
    return absl::OkStatus();
  }
  absl::Status Merge(const EGraph&, ClassId, ClassId) override {
    return absl::InternalError("types differ");
  }
};

TEST(EGraphAnalysis, ARefusedENodeLeavesTheGraphAsItWas) {
  testing::SymbolTable table;
  Refusing analysis;
  EGraph graph(&table, &analysis);
  const ClassId a = *graph.Add(table.Op("a"), {});
  EXPECT_EQ(graph.Add(table.Op("bad"), std::vector<ClassId>{a}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(graph.enode_bound(), 1u);
  EXPECT_EQ(graph.class_bound(), 1u);
  ASSERT_TRUE(graph.Rebuild().ok());
  EXPECT_THAT(graph.parents(a), IsEmpty());
}

TEST(EGraphAnalysis, ARefusedUnionIsAnErrorAndChangesNothing) {
  testing::SymbolTable table;
  Refusing analysis;
  EGraph graph(&table, &analysis);
  const ClassId a = *graph.Add(table.Op("a"), {});
  const ClassId b = *graph.Add(table.Op("b"), {});
  EXPECT_EQ(graph.Union(a, b).status().code(), absl::StatusCode::kInternal);
  EXPECT_NE(graph.Find(a), graph.Find(b));
  EXPECT_EQ(graph.num_classes(), 2);
}

class AlgebraTest : public ::testing::Test {
 protected:
  ClassId Add(absl::string_view term) { return *AddTerm(graph_, term, domain_.vocabulary()); }

  testing::AlgebraDomain domain_{testing::MathAlgebra()};
  EGraph graph_{&domain_.table(), &domain_};
};

TEST_F(AlgebraTest, ModifyAddsWhatAnalysisKnows) {
  const ClassId sum = Add("(+ (* 2 3) 1)");
  ASSERT_TRUE(graph_.Rebuild().ok());
  EXPECT_EQ(graph_.Find(sum), graph_.Find(Add("7")));
}

TEST_F(AlgebraTest, WhatAMergeTeachesTravelsUpwards) {
  const ClassId x = Add("x");
  const ClassId product = Add("(* 2 (+ (- x 1) 5))");
  ASSERT_TRUE(graph_.Rebuild().ok());
  EXPECT_EQ(domain_.value(graph_.Find(product)), std::nullopt);
  ASSERT_TRUE(graph_.Union(x, Add("4")).ok());
  ASSERT_TRUE(graph_.Rebuild().ok());
  EXPECT_EQ(domain_.value(graph_.Find(product)), 16);
  EXPECT_EQ(graph_.Find(product), graph_.Find(Add("16")));
}

TEST_F(AlgebraTest, RollbackForgetsWhatWasLearnt) {
  const ClassId x = Add("x");
  const ClassId product = Add("(* 2 (+ (- x 1) 5))");
  ASSERT_TRUE(graph_.Rebuild().ok());
  const std::vector<uint32_t> before = testing::ImageOf(graph_);
  for (int i = 0; i < 2; ++i) {
    graph_.Mark();
    ASSERT_TRUE(graph_.Union(x, Add("4")).ok());
    ASSERT_TRUE(graph_.Rebuild().ok());
    EXPECT_EQ(domain_.value(graph_.Find(product)), 16);
    graph_.Rollback();
    EXPECT_EQ(testing::ImageOf(graph_), before);
    EXPECT_EQ(domain_.value(graph_.Find(product)), std::nullopt);
    EXPECT_EQ(domain_.value(graph_.Find(x)), std::nullopt);
  }
}

TEST_F(AlgebraTest, PrunedClassesKeepLeavesOnlyButTheirTermsAreStillFound) {
  const ClassId sum = Add("(+ 2 3)");
  ASSERT_TRUE(graph_.Rebuild().ok());
  EXPECT_EQ(graph_.num_enodes(), 3);  // 2, 3, 5
  ASSERT_EQ(graph_.nodes(sum).size(), 1u);
  EXPECT_EQ(domain_.table().Name(graph_.node(graph_.nodes(sum)[0]).op), "5");
  EXPECT_THAT(graph_.nodes_of_kind(domain_.table().KindOfName("+")), IsEmpty());
  EXPECT_THAT(graph_.parents(Add("2")), IsEmpty());
  EXPECT_EQ(Add("(+ 2 3)"), graph_.Find(sum));
}

}  // namespace
}  // namespace quotient::egraph
