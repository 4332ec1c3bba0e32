// The e-node counts of egglog's "math" workload: a step applies all rules to one frozen e-graph.
// Any match lost, found twice or built wrongly, any congruence missed changes them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/egraph/matcher.h"
#include "core/egraph/pattern.h"
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

}  // namespace
}  // namespace quotient::egraph
