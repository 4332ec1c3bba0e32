// The state hash depends on what is known, not on the order in which it was learnt.

#include "core/egraph/state_hash.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/rng.h"
#include "core/egraph/egraph.h"
#include "core/egraph/pattern.h"
#include "tests/support/egraph/algebra_domain.h"
#include "tests/support/egraph/random_terms.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

// What is told to an e-graph: terms that are there, pairs that are equal.
struct Facts {
  std::vector<std::string> terms;
  std::vector<std::pair<size_t, size_t>> equal;  // indices of terms
};

Facts RandomFacts(Rng& rng) {
  Facts facts;
  for (uint64_t i = 4 + rng.Below(12); i > 0; --i) {
    const testing::RandomNode node = testing::MakeRandomNode(rng, facts.terms.size());
    std::vector<std::string> children;
    for (size_t child : node.children) children.push_back(facts.terms[child]);
    std::string term = node.word;
    if (!children.empty()) absl::StrAppend(&term, "(", absl::StrJoin(children, ", "), ")");
    if (term.size() < 400) facts.terms.push_back(term);
  }
  for (uint64_t i = rng.Below(5); i > 0; --i) {
    facts.equal.emplace_back(rng.Below(facts.terms.size()), rng.Below(facts.terms.size()));
  }
  return facts;
}

template <typename T>
void Shuffle(Rng& rng, std::vector<T>& items) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[rng.Below(i)]);
}

// Tells the facts in a random order, with a Rebuild here and there.
uint64_t HashOf(const Facts& facts, Rng& rng) {
  testing::SymbolTable table;
  const Vocabulary vocabulary = testing::SymbolVocabulary(table);
  EGraph graph(&table, nullptr);
  graph.KeepHash();
  std::vector<std::pair<size_t, size_t>> steps = facts.equal;
  for (size_t i = 0; i < facts.terms.size(); ++i) steps.emplace_back(i, i);
  Shuffle(rng, steps);
  for (const auto& [a, b] : steps) {
    const ClassId first = *AddTerm(graph, facts.terms[a], vocabulary);
    const ClassId second = *AddTerm(graph, facts.terms[b], vocabulary);
    EXPECT_TRUE(graph.Union(first, second).ok());
    if (rng.Below(2) == 0) {
      EXPECT_TRUE(graph.Rebuild().ok());
    }
    if (rng.Below(4) == 0) {
      // A detour changes nothing.
      EXPECT_TRUE(graph.Rebuild().ok());
      const uint64_t before = graph.state_hash();
      graph.Mark();
      EXPECT_TRUE(graph.Union(first, ClassId(0)).ok());
      EXPECT_TRUE(AddTerm(graph, "f(detour)", vocabulary).ok());
      EXPECT_TRUE(graph.Rebuild().ok());
      EXPECT_NE(graph.state_hash(), before);
      graph.Rollback();
      EXPECT_EQ(graph.state_hash(), before);
    }
  }
  EXPECT_TRUE(graph.Rebuild().ok());
  return graph.state_hash();
}

TEST(StateHashTest, TheOrderOfFactsDoesNotMatter) {
  absl::flat_hash_set<uint64_t> hashes;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Facts facts = RandomFacts(rng);
    const uint64_t hash = HashOf(facts, rng);
    for (int i = 0; i < 5; ++i) ASSERT_EQ(HashOf(facts, rng), hash);
    hashes.insert(hash);
  }
  EXPECT_GT(hashes.size(), 290u);
}

TEST(StateHashTest, AUnionMoreIsAnotherState) {
  Rng rng(1);
  Facts facts = {{"f(a)", "f(b)", "g(a, b)"}, {}};
  const uint64_t before = HashOf(facts, rng);
  facts.equal = {{0, 1}};
  const uint64_t roots = HashOf(facts, rng);
  facts.terms.push_back("a");
  facts.terms.push_back("b");
  facts.equal = {{3, 4}};
  const uint64_t leaves = HashOf(facts, rng);
  EXPECT_EQ(absl::flat_hash_set<uint64_t>({before, roots, leaves}).size(), 3u);
}

TEST(StateHashTest, PrunedENodesDoNotCount) {
  const auto hash = [](const std::vector<std::string>& terms) {
    testing::AlgebraDomain domain(testing::MathAlgebra());
    EGraph graph(&domain.table(), &domain);
    graph.KeepHash();
    for (const std::string& term : terms) {
      EXPECT_TRUE(AddTerm(graph, term, domain.vocabulary()).ok());
      EXPECT_TRUE(graph.Rebuild().ok());
    }
    return graph.state_hash();
  };
  EXPECT_EQ(hash({"2", "3", "(f (+ 2 3))"}), hash({"3", "(f 5)", "2", "(+ 3 2)"}));
  EXPECT_NE(hash({"(f (+ 2 3))"}), hash({"(f (+ 2 4))"}));
}

}  // namespace
}  // namespace quotient::egraph
