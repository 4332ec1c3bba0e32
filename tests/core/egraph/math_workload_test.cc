// The e-node counts of egglog's "math" workload: a step applies all rules to one frozen e-graph.
// Any match lost, found twice or built wrongly, any congruence missed changes them. And rules with
// guards that look at values, which come to be known while the rules run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/egraph/matcher.h"
#include "core/egraph/pattern.h"
#include "tests/support/egraph/algebra_domain.h"
#include "tests/support/egraph/rewriting_data.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;

TEST(MathWorkload, HasTheKnownNumbersOfENodes) {
  testing::SymbolTable table;
  const Vocabulary vocabulary = testing::SymbolVocabulary(table);
  const auto rules = CompileRules(testing::ReadRewritingFile("math/rules.txt"), vocabulary);
  ASSERT_TRUE(rules.ok()) << rules.status();
  EGraph graph(&table, nullptr);
  for (const std::string& line : testing::ReadRewritingLines("math/expressions.txt")) {
    ASSERT_TRUE(AddTerm(graph, line, vocabulary).ok());
  }
  ASSERT_TRUE(graph.Rebuild().ok());
  std::vector<const Rule*> pointers;
  for (const auto& rule : *rules) pointers.push_back(rule.get());
  Matcher matcher(table, pointers);
  std::vector<int64_t> counts = {graph.num_enodes()};
  for (int step = 1; step <= 10; ++step) {
    matcher.Search(graph);
    ASSERT_TRUE(matcher.ApplyAll(graph, [] { return true; }).ok());
    ASSERT_TRUE(graph.Rebuild().ok());
    counts.push_back(graph.num_enodes());
  }
  EXPECT_THAT(counts, ElementsAre(35, 69, 118, 208, 389, 784, 1576, 3160, 8113, 28303, 136446));
}

class AllMatches : public MatchSink {
 public:
  bool Add(Match match) override {
    matches.push_back(std::move(match));
    return true;
  }
  std::vector<Match> matches;
};

TEST(MathWorkload, ChangesOfValuesBringTheMatchesThatGuardsHeldBack) {
  const std::string rule_text = testing::ReadRewritingFile("geb/math-rules.txt");
  for (const char* expression :
       {"geb/math_d7_s0.txt", "geb/math_d7_s1.txt", "egg/expressions.txt"}) {
    testing::AlgebraDomain domain(testing::MathAlgebra());
    const auto rules = CompileRules(rule_text, domain.vocabulary());
    ASSERT_TRUE(rules.ok()) << rules.status();
    std::vector<const Rule*> pointers;
    for (const auto& rule : *rules) pointers.push_back(rule.get());
    EGraph graph(&domain.table(), &domain);
    Matcher matcher(domain.table(), pointers);
    for (const std::string& line : testing::ReadRewritingLines(expression)) {
      ASSERT_TRUE(AddTerm(graph, line, domain.vocabulary()).ok());
    }
    ASSERT_TRUE(graph.Rebuild().ok());
    for (int step = 0; step < 4; ++step) {
      std::vector<AllMatches> found(pointers.size());
      for (size_t i = 0; i < pointers.size(); ++i) {
        ASSERT_TRUE(matcher.takes(i)) << pointers[i]->name();
        pointers[i]->Search(graph, found[i]);
      }
      matcher.Search(graph);
      ASSERT_TRUE(matcher.ApplyAll(graph, [] { return true; }).ok());
      ASSERT_TRUE(graph.Rebuild().ok());
      for (size_t i = 0; i < pointers.size(); ++i) {
        for (const Match& match : found[i].matches) {
          EXPECT_FALSE(*pointers[i]->Apply(graph, match, 1)) << pointers[i]->name();
        }
      }
      ASSERT_TRUE(graph.Rebuild().ok());
    }
    EXPECT_GT(graph.num_enodes(), 200) << expression;
  }
}

}  // namespace
}  // namespace quotient::egraph
