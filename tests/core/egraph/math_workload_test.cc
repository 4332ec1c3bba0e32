// The e-node counts of egglog's "math" workload: a step applies all rules to one frozen e-graph.
// Any match lost, found twice or built wrongly, any congruence missed changes them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/egraph/pattern.h"
#include "tests/support/egraph/rewriting_data.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;

class AllMatches : public MatchSink {
 public:
  bool Add(Match match) override {
    matches.push_back(std::move(match));
    return true;
  }
  std::vector<Match> matches;
};

void Step(EGraph& graph, const std::vector<std::unique_ptr<Rule>>& rules) {
  std::vector<AllMatches> found(rules.size());
  for (size_t i = 0; i < rules.size(); ++i) rules[i]->Search(graph, found[i]);
  for (size_t i = 0; i < rules.size(); ++i) {
    for (const Match& match : found[i].matches) {
      ASSERT_TRUE(rules[i]->Apply(graph, match, static_cast<Origin>(i + 1)).ok());
    }
  }
  ASSERT_TRUE(graph.Rebuild().ok());
}

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
  std::vector<int64_t> counts = {graph.num_enodes()};
  for (int step = 1; step <= 9; ++step) {
    Step(graph, *rules);
    counts.push_back(graph.num_enodes());
  }
  EXPECT_THAT(counts, ElementsAre(35, 69, 118, 208, 389, 784, 1576, 3160, 8113, 28303));
}

}  // namespace
}  // namespace quotient::egraph
