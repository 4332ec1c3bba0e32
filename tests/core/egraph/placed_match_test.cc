#include "core/egraph/placed_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/egraph/ranges.h"
#include "tests/support/egraph/compile_rule.h"
#include "tests/support/egraph/random_terms.h"
#include "tests/support/egraph/symbol_domain.h"
#include "tests/support/status_matchers.h"

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AllMatches : public MatchSink {
 public:
  bool Add(Match match) override {
    matches.push_back(std::move(match));
    return true;
  }
  std::vector<Match> matches;
};

class PlacedMatchTest : public ::testing::Test {
 protected:
  // The class of a term, which is added.
  ClassId Add(absl::string_view term) {
    absl::StatusOr<ClassId> id = AddTerm(graph_, term, vocabulary_);
    EXPECT_OK(id.status());
    EXPECT_OK(graph_.Rebuild());
    return graph_.Find(*id);
  }
  ENodeId ENode(absl::string_view term) { return *graph_.nodes(Add(term)).begin(); }
  void Unite(ClassId a, ClassId b) {
    ASSERT_OK(graph_.Union(a, b).status());
    ASSERT_OK(graph_.Rebuild());
  }

  std::vector<PlacedMatch> Find(absl::string_view rule, const std::vector<ClassId>& classes) {
    absl::StatusOr<std::unique_ptr<Rule>> compiled = testing::CompileRule(rule, vocabulary_);
    EXPECT_OK(compiled.status());
    return FindMatchesAt(*(*compiled)->program(), graph_, classes);
  }

  testing::SymbolTable table_;
  EGraph graph_{&table_, nullptr};
  Vocabulary vocabulary_ = testing::SymbolVocabulary(table_);
};

TEST_F(PlacedMatchTest, OnlyTheMatchWithTheseClassesIsFound) {
  const ClassId a = Add("a"), b = Add("b");
  const ClassId ab = Add("(g a b)"), ba = Add("(g b a)");
  EXPECT_THAT(Find("(g ?x ?y) => (g ?y ?x)", {ab, a, b}), SizeIs(1));
  EXPECT_THAT(Find("(g ?x ?y) => (g ?y ?x)", {ab, b, a}), IsEmpty());
  Unite(ab, ba);
  const std::vector<PlacedMatch> found = Find("(g ?x ?y) => (g ?y ?x)", {ab, b, a});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].enodes, ElementsAre(ENodeId(3)));
}

TEST_F(PlacedMatchTest, MatchesWithOtherWordsAreOthers) {
  const ClassId a = Add("a");
  const ClassId first = Add("(p[0] a)"), second = Add("(p[1] a)");
  Unite(first, second);
  const std::vector<PlacedMatch> found = Find("p[?o](?x) => ?x", {first, a});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_NE(found[0].match.ops, found[1].match.ops);
}

TEST_F(PlacedMatchTest, TheENodesAreThoseOfTheWholeLeftSide) {
  const ClassId b = Add("b");
  const ENodeId inner = ENode("(f b)"), outer = ENode("(h (f b) a)");
  const std::vector<PlacedMatch> found = Find("(h (f ?x) a) => ?x", {graph_.class_of(outer), b});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].enodes, ElementsAre(outer, inner, ENode("a")));
}

TEST_F(PlacedMatchTest, TooFewClassesAreNoMatch) {
  const ClassId ab = Add("(g a b)");
  EXPECT_THAT(Find("(g ?x ?y) => (g ?y ?x)", {ab}), IsEmpty());
  EXPECT_THAT(Find("(g ?x ?y) => (g ?y ?x)", {}), IsEmpty());
}

TEST_F(PlacedMatchTest, FindsWhatASearchOfTheWholeGraphFinds) {
  size_t matches = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    testing::SymbolTable table;
    EGraph graph(&table, nullptr);
    const Vocabulary vocabulary = testing::SymbolVocabulary(table);
    std::vector<ClassId> made;
    for (int i = 0; i < 30; ++i) {
      const testing::RandomNode node = testing::MakeRandomNode(rng, made.size());
      std::vector<ClassId> children;
      for (const size_t child : node.children) children.push_back(made[child]);
      made.push_back(*graph.Add(table.Op(node.word), children));
      if (rng.Below(4) == 0) {
        ASSERT_OK(graph.Union(made.back(), made[rng.Below(made.size())]).status());
      }
    }
    ASSERT_OK(graph.Rebuild());
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Rule> rule,
                         testing::CompileRule(testing::MakeRandomRule(rng), vocabulary));
    AllMatches all;
    rule->Search(graph, all);
    for (const Match& match : all.matches) {
      const auto is_it = [&](const PlacedMatch& other) { return other.match.ops == match.ops; };
      EXPECT_TRUE(std::ranges::any_of(FindMatchesAt(*rule->program(), graph, match.classes), is_it))
          << rule->text();
    }
    matches += all.matches.size();
    if (HasFailure()) return;
  }
  EXPECT_GT(matches, 1000u);
}

}  // namespace
}  // namespace quotient::egraph
