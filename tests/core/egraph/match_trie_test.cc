#include "core/egraph/match_trie.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/egraph/pattern.h"
#include "core/egraph/rule.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

using ::testing::SizeIs;

class MatchTrieTest : public ::testing::Test {
 protected:
  void Use(absl::string_view rules) {
    auto compiled = CompileRules(rules, vocabulary_);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    rules_ = *std::move(compiled);
    for (uint32_t rule = 0; rule < rules_.size(); ++rule) {
      const Program& program = *rules_[rule]->program();
      ASSERT_TRUE(MatchTrie::Fits(program));
      trie_.Add(table_, rule, program);
    }
    registers_.resize(trie_.num_registers());
  }

  ClassId Term(absl::string_view text) { return *AddTerm(graph_, text, vocabulary_); }

  KindId Kind(absl::string_view word) const { return *vocabulary_.kind(word); }

  // Begins a search of all changes since the last AcknowledgeChanges.
  bool Enable(std::vector<bool> searched) {
    EXPECT_TRUE(graph_.Rebuild().ok());
    trie_.LookUpLeaves(graph_, graph_.changes().begin(), registers_);
    return trie_.Enable(std::move(searched));
  }

  // The enabled nodes at which orders begin that start at this word.
  std::vector<const MatchTrie::Node*> Seeds(absl::string_view word) const {
    std::vector<const MatchTrie::Node*> seeds;
    for (const uint32_t seed : trie_.seeds(Kind(word))) {
      if (trie_.node(seed).enabled) seeds.push_back(&trie_.node(seed));
    }
    return seeds;
  }

  // All enabled emissions at and below the node.
  std::vector<const MatchTrie::Emission*> Emissions(const MatchTrie::Node& node) const {
    std::vector<const MatchTrie::Emission*> emissions;
    for (const MatchTrie::Emission& emission : node.emissions) {
      if (emission.enabled) emissions.push_back(&emission);
    }
    for (const MatchTrie::Walk& walk : node.walks) {
      for (const MatchTrie::Walk::Branch& branch : walk.branches) {
        for (const auto* below : Emissions(trie_.node(branch.node))) emissions.push_back(below);
      }
    }
    return emissions;
  }

  testing::SymbolTable table_;
  const Vocabulary vocabulary_ = testing::SymbolVocabulary(table_);
  EGraph graph_{&table_, nullptr};
  std::vector<std::unique_ptr<Rule>> rules_;
  MatchTrie trie_;
  std::vector<uint32_t> registers_;
};

TEST_F(MatchTrieTest, OrdersShareTheirBeginningAndSiblingsTheirWalk) {
  Use("(+ ?a (* ?b ?c)) => ?a\n"
      "(+ ?a (f ?b)) => ?a\n");
  ASSERT_TRUE(Enable({true, true}));
  ASSERT_THAT(Seeds("+"), SizeIs(1));
  const MatchTrie::Node& plus = *Seeds("+")[0];
  ASSERT_THAT(plus.walks, SizeIs(1));
  EXPECT_THAT(plus.walks[0].branches, SizeIs(2));
  EXPECT_THAT(Emissions(plus), SizeIs(2));
}

TEST_F(MatchTrieTest, OnlyWhatTheSearchedRulesNeedIsEnabled) {
  Use("(+ ?a (* ?b ?c)) => ?a\n"
      "(+ ?a (f ?b)) => ?a\n");
  EXPECT_FALSE(Enable({false, false}));
  ASSERT_TRUE(Enable({false, true}));
  ASSERT_THAT(Seeds("+"), SizeIs(1));
  const std::vector<const MatchTrie::Emission*> emissions = Emissions(*Seeds("+")[0]);
  ASSERT_THAT(emissions, SizeIs(1));
  EXPECT_EQ(emissions[0]->program, 1u);
  EXPECT_TRUE(trie_.StartsAt(Kind("f")));
  EXPECT_FALSE(trie_.StartsAt(Kind("*")));
  EXPECT_TRUE(trie_.Enable({true, false}));
  EXPECT_FALSE(trie_.StartsAt(Kind("f")));
  EXPECT_TRUE(trie_.StartsAt(Kind("*")));
}

TEST_F(MatchTrieTest, NothingStartsAtOtherWords) {
  Use("(+ ?a ?b) => ?a");
  ASSERT_TRUE(Enable({true}));
  EXPECT_FALSE(trie_.StartsAt(Kind("unheard-of")));
  EXPECT_TRUE(trie_.seeds(Kind("unheard-of")).empty());
}

TEST_F(MatchTrieTest, LeavesAreRequiredToBeInTheGraph) {
  Use("(+ ?a zero) => ?a");
  Term("(+ x y)");
  Enable({true});
  EXPECT_FALSE(trie_.StartsAt(Kind("+")));
  const ClassId zero = Term("zero");
  ASSERT_TRUE(Enable({true}));
  EXPECT_TRUE(trie_.StartsAt(Kind("+")));
  EXPECT_EQ(trie_.num_registers(), MatchTrie::kFirstLeaf + 1);
  EXPECT_EQ(registers_[MatchTrie::kFirstLeaf], zero.value());
  EXPECT_EQ(trie_.leaf_node(0), graph_.LookupNode(table_.Op("zero"), {}));
}

TEST_F(MatchTrieTest, LeavesAreComparedOnlyIfTheyAreAmongTheChanges) {
  Use("(+ ?a zero) => ?a");
  Term("zero");
  ASSERT_TRUE(Enable({true}));
  ASSERT_THAT(Emissions(*Seeds("+")[0]), SizeIs(1));
  EXPECT_TRUE(Emissions(*Seeds("+")[0])[0]->looks_at_leaves);
  graph_.AcknowledgeChanges(/*keep=*/false);
  ASSERT_TRUE(Enable({true}));
  EXPECT_FALSE(Emissions(*Seeds("+")[0])[0]->looks_at_leaves);
}

// After the first product, the second one is found by its known child ?a.
TEST_F(MatchTrieTest, AComparisonWithAKnownChildMakesAJoin) {
  Use("(+ (* ?a ?b) (* ?a ?c)) => ?a");
  ASSERT_TRUE(Enable({true}));
  ASSERT_THAT(Seeds("+"), SizeIs(1));
  const MatchTrie::Node& plus = *Seeds("+")[0];
  ASSERT_THAT(plus.walks, SizeIs(1));
  EXPECT_EQ(plus.walks[0].known, kNoIndex);
  const MatchTrie::Node& first = trie_.node(plus.walks[0].branches[0].node);
  ASSERT_THAT(first.walks, SizeIs(1));
  EXPECT_EQ(first.walks[0].known, first.step.first_child);
  EXPECT_EQ(first.walks[0].position, 0u);
}

TEST_F(MatchTrieTest, ProgramsWithTooManyRegistersDoNotFit) {
  std::string children;
  for (uint32_t i = 0; i < MatchTrie::kFirstLeaf; ++i) children += " ?v";
  const auto rules = CompileRules("(f" + children + ") => ?v", vocabulary_);
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_FALSE(MatchTrie::Fits(*(*rules)[0]->program()));
}

}  // namespace
}  // namespace quotient::egraph
