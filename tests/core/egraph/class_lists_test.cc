// Lists of members and uses against walks along the whole chains, while a graph grows and is rolled
// back.

#include "core/egraph/class_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "tests/support/egraph/random_terms.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<ENodeId> Live(const EGraph& graph, std::span<const ENodeId> nodes) {
  std::vector<ENodeId> live;
  std::ranges::copy_if(nodes, std::back_inserter(live), [&](ENodeId id) { return graph.live(id); });
  return live;
}

// The same as ClassLists finds, e-node by e-node in order of id.
std::vector<ENodeId> MembersOf(const EGraph& graph, ClassId id, KindId kind) {
  std::vector<ENodeId> members;
  for (uint32_t i = 0; i < graph.enode_bound(); ++i) {
    const ENodeId node(i);
    if (graph.live(node) && graph.class_of(node) == id && graph.kind(node) == kind) {
      members.push_back(node);
    }
  }
  return members;
}
std::vector<ENodeId> UsesOf(const EGraph& graph, ClassId id, KindId kind, uint32_t position) {
  std::vector<ENodeId> uses;
  for (uint32_t i = 0; i < graph.enode_bound(); ++i) {
    const ENodeId node(i);
    if (!graph.live(node) || graph.kind(node) != kind) continue;
    const std::span<const ClassId> children = graph.node(node).children;
    if (position < children.size() && children[position] == id) uses.push_back(node);
  }
  return uses;
}

// The child of a live e-node with up to two children. Invalid where there is none.
ClassId ChildInRow(const EGraph& graph, ENodeId node, uint32_t position) {
  if (!graph.live(node)) return {};
  const std::span<const ClassId> children = graph.node(node).children;
  return children.size() <= 2 && position < children.size() ? children[position] : ClassId();
}

class ClassListsTest : public ::testing::Test {
 protected:
  ClassId Add(const std::string& word, std::vector<ClassId> children = {}) {
    return *graph_.Add(table_.Op(word), children);
  }
  ENodeId Node(const std::string& word, std::vector<ClassId> children) {
    return graph_.LookupNode(table_.Op(word), children);
  }
  void Unite(ClassId a, ClassId b) { ASSERT_TRUE(graph_.Union(a, b).ok()); }
  void Rebuild() {
    ASSERT_TRUE(graph_.Rebuild().ok());
    lists_.NextSearch();
  }
  void Mark() {
    graph_.Mark();
    lists_.Mark();
  }
  void Rollback() {
    graph_.Rollback();
    lists_.Rollback();
  }
  void Forget() {
    graph_.Forget();
    lists_.Forget();
  }

  std::span<const ENodeId> Members(ClassId id, const std::string& kind) {
    return lists_.Members(graph_, graph_.Find(id), table_.KindOfName(kind));
  }
  std::span<const ENodeId> Uses(ClassId id, const std::string& kind, uint32_t position) {
    return lists_.Uses(graph_, graph_.Find(id), table_.KindOfName(kind), position);
  }
  std::span<const ClassId> ChildrenOfMembers(ClassId id, const std::string& kind,
                                             uint32_t position) {
    return lists_.ChildrenOfMembers(graph_, graph_.Find(id), table_.KindOfName(kind), position);
  }

  testing::SymbolTable table_;
  EGraph graph_{&table_, nullptr};
  ClassLists lists_{0};
};

TEST_F(ClassListsTest, OnlyClassesAboveTheWeightHaveLists) {
  const ClassLists lists(2);
  const ClassId a = Add("a");
  EXPECT_FALSE(lists.IsLarge(graph_.store().class_row(a)));
  Add("f", {a});
  EXPECT_FALSE(lists.IsLarge(graph_.store().class_row(a)));
  Add("g", {a, Add("b")});
  EXPECT_TRUE(lists.IsLarge(graph_.store().class_row(a)));
}

TEST_F(ClassListsTest, MembersAndUsesGoByKindAndPosition) {
  const ClassId a = Add("a"), b = Add("b");
  const ClassId f = Add("p[1]", {a});
  Unite(f, Add("p[2]", {a}));
  Unite(f, Add("g", {b, a}));
  Rebuild();
  EXPECT_THAT(Members(f, "p"), ElementsAre(Node("p[1]", {a}), Node("p[2]", {a})));
  EXPECT_THAT(Members(f, "g"), ElementsAre(Node("g", {b, a})));
  EXPECT_THAT(Members(f, "h"), IsEmpty());
  EXPECT_THAT(Uses(a, "p", 0), ElementsAre(Node("p[1]", {a}), Node("p[2]", {a})));
  EXPECT_THAT(Uses(a, "g", 0), IsEmpty());
  EXPECT_THAT(Uses(a, "g", 1), ElementsAre(Node("g", {b, a})));
  EXPECT_THAT(Uses(b, "g", 0), ElementsAre(Node("g", {b, a})));
}

TEST_F(ClassListsTest, TheChildrenOfMembersStandBesideThem) {
  const ClassId a = Add("a"), b = Add("b");
  const ClassId k = Add("k", {a, b});
  Unite(k, Add("k", {b}));
  Unite(k, Add("k", {a, b, b}));
  Rebuild();
  ASSERT_EQ(Members(k, "k").size(), 3u);
  EXPECT_THAT(ChildrenOfMembers(k, "k", 0), ElementsAre(a, b, ClassId()));
  EXPECT_THAT(ChildrenOfMembers(k, "k", 1), ElementsAre(b, ClassId(), ClassId()));
  EXPECT_THAT(ChildrenOfMembers(k, "g", 0), IsEmpty());
}

// g(b) becomes the same as g(a), so only one of both is live.
TEST_F(ClassListsTest, TheChildrenOfMembersFollowUnions) {
  const ClassId a = Add("a"), b = Add("b"), c = Add("c");
  const ClassId f = Add("f", {a});
  Unite(f, Add("f", {b}));
  Unite(f, Add("f", {c}));
  Rebuild();
  EXPECT_THAT(ChildrenOfMembers(f, "f", 0), ElementsAre(a, b, c));
  Unite(a, b);
  Rebuild();
  const std::span<const ENodeId> members = Members(f, "f");
  const std::span<const ClassId> children = ChildrenOfMembers(f, "f", 0);
  ASSERT_EQ(children.size(), members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    const bool live = graph_.live(members[i]);
    EXPECT_EQ(children[i], live ? graph_.node(members[i]).children[0] : ClassId()) << i;
  }
  EXPECT_EQ(Live(graph_, members).size(), 2u);
}

TEST_F(ClassListsTest, WhatWasAddedSinceIsFoundInTheNextSearch) {
  const ClassId a = Add("a");
  Add("p[1]", {a});
  Rebuild();
  EXPECT_EQ(Uses(a, "p", 0).size(), 1u);
  Add("p[2]", {a});
  ASSERT_TRUE(graph_.Rebuild().ok());
  EXPECT_EQ(Uses(a, "p", 0).size(), 1u) << "in one search nothing changes";
  lists_.NextSearch();
  EXPECT_THAT(Uses(a, "p", 0), ElementsAre(Node("p[1]", {a}), Node("p[2]", {a})));
}

// Thinning out a chain drops its last link, so the lists cannot go on from there.
TEST_F(ClassListsTest, ALastLinkThatIsGoneIsNoticed) {
  constexpr int kWords = 20;
  const ClassId a = Add("a"), b = Add("b"), c = Add("c");
  const ClassId all = Add("f", {a});
  for (const ClassId child : {a, b, c}) {
    for (int i = 0; i < kWords; ++i) Unite(all, Add(absl::StrCat("p[", i, "]"), {child}));
  }
  Rebuild();
  EXPECT_EQ(Members(all, "p").size(), 3u * kWords);
  const ENodeId last = graph_.store().class_row(graph_.Find(all)).last_member;
  Unite(a, b);
  Unite(b, c);
  Rebuild();
  ASSERT_NE(graph_.store().class_row(graph_.Find(all)).last_member, last);
  Unite(all, Add("p[new]", {Add("d")}));
  Rebuild();
  const KindId kind = table_.KindOfName("p");
  EXPECT_EQ(Live(graph_, Members(all, "p")), MembersOf(graph_, graph_.Find(all), kind));
}

// All lists of all classes. Some are left out, so that lists grow over several searches at once.
class RandomClassListsTest : public ClassListsTest {
 protected:
  void ExpectRightLists(Rng& rng) {
    for (const ClassId id : graph_.classes()) {
      if (rng.Below(3) == 0) continue;
      for (const char* kind : {"a", "f", "g", "h", "k", "p"}) {
        const KindId number = table_.KindOfName(kind);
        const auto members = lists_.Members(graph_, id, number);
        ASSERT_TRUE(std::ranges::is_sorted(members));
        ASSERT_EQ(Live(graph_, members), MembersOf(graph_, id, number));
        for (const uint32_t position : {0u, 1u}) {
          const auto children = lists_.ChildrenOfMembers(graph_, id, number, position);
          ASSERT_EQ(children.size(), members.size());
          for (size_t i = 0; i < members.size(); ++i) {
            ASSERT_EQ(children[i], ChildInRow(graph_, members[i], position));
          }
        }
        for (const uint32_t position : {0u, 1u, 2u}) {
          const auto uses = lists_.Uses(graph_, id, number, position);
          ASSERT_TRUE(std::ranges::is_sorted(uses));
          ASSERT_EQ(Live(graph_, uses), UsesOf(graph_, id, number, position));
        }
      }
    }
  }
};

TEST_F(RandomClassListsTest, TheyAreRightAfterGrowthAndRollbacks) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Mark();
    std::vector<ClassId> made;
    std::vector<size_t> made_at_mark;
    for (int step = 0; step < 30; ++step) {
      for (uint64_t i = rng.Below(12); i > 0 || made.empty(); i -= i > 0 ? 1 : 0) {
        const testing::RandomNode node = testing::MakeRandomNode(rng, made.size());
        std::vector<ClassId> children;
        for (const size_t child : node.children) children.push_back(made[child]);
        made.push_back(Add(node.word, std::move(children)));
      }
      for (uint64_t i = rng.Below(3); i > 0; --i) {
        Unite(made[rng.Below(made.size())], made[rng.Below(made.size())]);
      }
      Rebuild();
      ExpectRightLists(rng);
      if (HasFatalFailure()) return;
      const uint64_t choice = rng.Below(6);
      if (choice < 2) {
        Mark();
        made_at_mark.push_back(made.size());
      } else if (choice == 2 && !made_at_mark.empty()) {
        Rollback();
        made.resize(made_at_mark.back());
        made_at_mark.pop_back();
        ExpectRightLists(rng);
        if (HasFatalFailure()) return;
      } else if (choice == 3 && !made_at_mark.empty()) {
        Forget();
        made_at_mark.pop_back();
      }
    }
    for (; !made_at_mark.empty(); made_at_mark.pop_back()) Rollback();
    Rollback();
  }
}

}  // namespace
}  // namespace quotient::egraph
