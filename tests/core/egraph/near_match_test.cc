#include "core/egraph/near_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/base/stop.h"
#include "core/egraph/ranges.h"
#include "tests/support/egraph/compile_rule.h"
#include "tests/support/egraph/random_terms.h"
#include "tests/support/egraph/symbol_domain.h"
#include "tests/support/status_matchers.h"

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using MatchKey = std::pair<std::vector<ClassId>, std::vector<OpId>>;

class KeysOfAll : public MatchSink {
 public:
  bool Add(Match match) override {
    keys.emplace(match.classes, match.ops);
    return true;
  }
  std::set<MatchKey> keys;
};

class NearMatchTest : public ::testing::Test {
 protected:
  NearMatchTest() {
    // Holds for classes made of `a` alone.
    vocabulary_.guards["is_a"] = {"c",
                                  [this](const EGraph& graph, std::span<const Binding> arguments) {
                                    return graph.Lookup(table_.Op("a"), {}) ==
                                           graph.Find(arguments[0].id);
                                  },
                                  Guard::Otherwise::kNothing};
  }

  // The e-node of a term, which is added.
  ENodeId Add(absl::string_view term) {
    absl::StatusOr<ClassId> id = AddTerm(graph_, term, vocabulary_);
    EXPECT_OK(id.status());
    EXPECT_OK(graph_.Rebuild());
    return *graph_.nodes(graph_.Find(*id)).begin();
  }

  NearMatches Look(absl::string_view rule, ENodeId enode) {
    absl::StatusOr<std::unique_ptr<Rule>> compiled = testing::CompileRule(rule, vocabulary_);
    EXPECT_OK(compiled.status());
    rules_.push_back(*std::move(compiled));
    const ENodeId enodes[] = {enode};
    return FindNearMatches(*rules_.back()->program(), graph_, enodes, StopCondition());
  }

  static std::vector<std::string> TermsOf(const NearMatch& near) {
    std::vector<std::string> terms;
    for (const NearMatch::Found& found : near.found) terms.push_back(ToText(*found.term));
    return terms;
  }

  testing::SymbolTable table_;
  EGraph graph_{&table_, nullptr};
  Vocabulary vocabulary_ = testing::SymbolVocabulary(table_);
  std::vector<std::unique_ptr<Rule>> rules_;  // Patterns point into them.
};

TEST_F(NearMatchTest, AMatchIsFoundFromEachOfItsENodes) {
  const ENodeId inner = Add("(g a b)");
  const ENodeId outer = Add("(f (g a b))");
  EXPECT_THAT(Look("(f (g ?x ?y)) => ?x", outer).matches, SizeIs(1));
  EXPECT_THAT(Look("(f (g ?x ?y)) => ?x", inner).matches, SizeIs(1));
  EXPECT_FALSE(Look("(f (g ?x ?y)) => ?x", inner).nearest.has_value());
}

TEST_F(NearMatchTest, AnotherOperatorAbove) {
  const ENodeId inner = Add("(g a b)");
  Add("(k (g a b))");
  const NearMatches look = Look("(f (g ?x ?y)) => ?x", inner);
  ASSERT_TRUE(look.nearest.has_value());
  EXPECT_THAT(look.matches, SizeIs(0));
  EXPECT_THAT(TermsOf(*look.nearest), ElementsAre("g(?x, ?y)"));
  ASSERT_TRUE(look.nearest->missing.has_value());
  EXPECT_EQ(look.nearest->missing->step.code, Instruction::Code::kUp);
  EXPECT_EQ(look.nearest->missing->step.position, 0u);
  EXPECT_EQ(ToText(*look.nearest->missing->term), "f(g(?x, ?y))");
  EXPECT_EQ(look.nearest->missing->in, graph_.class_of(inner));
}

TEST_F(NearMatchTest, AnotherOperatorBelowAfterALongerPart) {
  const ENodeId outer = Add("(h (f a) (g a b))");
  const NearMatches look = Look("(h (f ?x) (f ?y)) => ?x", outer);
  ASSERT_TRUE(look.nearest.has_value());
  EXPECT_THAT(TermsOf(*look.nearest), ElementsAre("h(f(?x), f(?y))", "f(?x)"));
  EXPECT_EQ(look.nearest->missing->step.code, Instruction::Code::kDown);
  EXPECT_EQ(ToText(*look.nearest->missing->term), "f(?y)");
}

TEST_F(NearMatchTest, AValueThatShouldBeTheSame) {
  const ENodeId outer = Add("(g a b)");
  const NearMatches look = Look("(g ?x ?x) => ?x", outer);
  ASSERT_TRUE(look.nearest.has_value());
  EXPECT_EQ(look.nearest->missing->step.code, Instruction::Code::kSameClass);
  EXPECT_EQ(ToText(*look.nearest->missing->term), "?x");
  EXPECT_NE(look.nearest->missing->in, look.nearest->missing->other);
}

TEST_F(NearMatchTest, OtherAttributesOfTheENodeItself) {
  const ENodeId outer = Add("(p[0] a)");
  const NearMatches look = Look("p[1](?x) => ?x", outer);
  ASSERT_TRUE(look.nearest.has_value());
  EXPECT_THAT(look.nearest->found, SizeIs(0));
  EXPECT_EQ(look.nearest->missing->step.code, Instruction::Code::kScan);
  EXPECT_EQ(table_.Name(look.nearest->missing->op), "p[1]");
  EXPECT_FALSE(Look("f(?x) => ?x", outer).nearest.has_value());
}

TEST_F(NearMatchTest, GuardsRefuseOnlyWhatMatches) {
  const ENodeId outer = Add("(h (f b) a)");
  const NearMatches look =
      Look("(h (f ?x) ?y) => ?x if is_a(?x) and is_a(?y) and not is_a(?y)", outer);
  ASSERT_TRUE(look.nearest.has_value());
  EXPECT_FALSE(look.nearest->missing.has_value());
  EXPECT_FALSE(look.nearest->is_match());
  std::vector<std::string> refused;
  for (const RefusedGuard& guard : look.nearest->refused) {
    refused.push_back(ToText(look.nearest->program->text->guards[guard.guard]));
    EXPECT_THAT(guard.arguments, SizeIs(1));
  }
  EXPECT_THAT(refused, ::testing::UnorderedElementsAre("is_a(?x)", "not is_a(?y)"));
}

TEST_F(NearMatchTest, FewerRefusalsAreNearer) {
  const ENodeId outer = Add("(f (g b b))");
  ASSERT_OK(graph_.Union(graph_.class_of(Add("(g b b)")), graph_.class_of(Add("(g b a)"))));
  ASSERT_OK(graph_.Rebuild());
  const NearMatches look = Look("(f (g ?x ?y)) => ?x if is_a(?x) and is_a(?y)", outer);
  ASSERT_TRUE(look.nearest.has_value());
  EXPECT_THAT(look.nearest->refused, SizeIs(1));
}

TEST_F(NearMatchTest, NoMoreMatchesThanThereIsRoomFor) {
  std::vector<ENodeId> enodes;
  for (int i = 0; i < 2; ++i) {
    // Each class has 33 e-nodes that match.
    ENodeId first = Add(absl::StrCat("(p[", 100 + i, "] a)"));
    for (int j = 0; j < 32; ++j) {
      const ENodeId other = Add(absl::StrCat("(p[", 200 + 100 * i + j, "] b)"));
      ASSERT_OK(graph_.Union(graph_.class_of(first), graph_.class_of(other)));
      ASSERT_OK(graph_.Rebuild());
    }
    for (const ENodeId node : graph_.nodes(graph_.class_of(first))) enodes.push_back(node);
  }
  ASSERT_THAT(enodes, SizeIs(66));
  absl::StatusOr<std::unique_ptr<Rule>> rule =
      testing::CompileRule("p[?o](?x) => p[?o](p[?o](?x))", vocabulary_);
  ASSERT_OK(rule.status());
  const auto look = [&](size_t count) {
    return FindNearMatches(*(*rule)->program(), graph_, std::span(enodes).first(count),
                           StopCondition());
  };
  EXPECT_THAT(look(64).matches, SizeIs(64));
  EXPECT_FALSE(look(64).cut_short);
  EXPECT_THAT(look(66).matches, SizeIs(NearMatches::kMostMatches));
  EXPECT_TRUE(look(66).cut_short);
}

TEST_F(NearMatchTest, ItStopsWhenItIsTold) {
  const ENodeId outer = Add("(f (g a b))");
  absl::StatusOr<std::unique_ptr<Rule>> rule =
      testing::CompileRule("(f (g ?x ?y)) => ?x", vocabulary_);
  ASSERT_OK(rule.status());
  CancelToken token;
  token.Cancel();
  const ENodeId enodes[] = {outer};
  const NearMatches look =
      FindNearMatches(*(*rule)->program(), graph_, enodes, StopCondition(&token));
  EXPECT_THAT(look.matches, SizeIs(0));
  EXPECT_TRUE(look.cut_short);
}

// The same machine finds both, but from another e-node, by another plan, and past guards.
TEST_F(NearMatchTest, FindsWhatASearchOfTheWholeGraphFinds) {
  size_t found = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    testing::SymbolTable table;
    EGraph graph(&table, nullptr);
    const Vocabulary vocabulary = testing::SymbolVocabulary(table);
    std::vector<ClassId> made;
    for (int i = 0; i < 14; ++i) {
      const testing::RandomNode node = testing::MakeRandomNode(rng, made.size());
      std::vector<ClassId> children;
      for (const size_t child : node.children) children.push_back(made[child]);
      made.push_back(*graph.Add(table.Op(node.word), children));
    }
    for (int i = 0; i < 3; ++i) {
      ASSERT_OK(graph.Union(made[rng.Below(made.size())], made[rng.Below(made.size())]));
    }
    ASSERT_OK(graph.Rebuild());
    const std::string text = testing::MakeRandomRule(rng);
    SCOPED_TRACE(text);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Rule> rule, testing::CompileRule(text, vocabulary));
    if (rule->program()->deltas.empty()) continue;
    KeysOfAll all;
    rule->Search(graph, all);
    KeysOfAll near;
    for (uint32_t i = 0; i < graph.enode_bound(); ++i) {
      if (!graph.live(ENodeId(i))) continue;
      const ENodeId enodes[] = {ENodeId(i)};
      const NearMatches look = FindNearMatches(*rule->program(), graph, enodes, StopCondition());
      EXPECT_FALSE(look.cut_short);
      EXPECT_TRUE(look.matches.empty() || !look.nearest.has_value());
      for (const Match& match : look.matches) near.Add(match);
    }
    EXPECT_EQ(near.keys, all.keys);
    found += all.keys.size();
  }
  EXPECT_GT(found, 1000u);
}

}  // namespace
}  // namespace quotient::egraph
