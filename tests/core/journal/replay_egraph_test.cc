// A rule is searched at the classes of a match alone: no match is missed there that a search of the
// whole e-graph finds.

#include "core/journal/replay_egraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/core/rules/random_graphs.h"
#include "tests/core/rules/rule_cases.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/status_matchers.h"

namespace quotient::journal {
namespace {

using egraph::Match;

class ReplayEGraphTest : public ::testing::Test {
 protected:
  void Begin(const model::Graph& graph) {
    ASSERT_OK_AND_ASSIGN(replay_, ReplayEGraph::Begin(graph, rules::Measured(graph),
                                                      {.max_opset = rules::kNewestOpset,
                                                       .max_folded_bytes = 1 << 20}));
  }

  std::vector<Match> MatchesOf(size_t rule) const {
    return rules::MatchesOf(replay_->tensors(), *replay_->rules()[rule]);
  }

  // Makes some rewrites by each rule.
  void Grow() {
    constexpr uint32_t kMostENodes = 500;
    constexpr size_t kMostMatches = 5;
    for (size_t rule = 0; rule < replay_->rules().size(); ++rule) {
      std::vector<Match> matches = MatchesOf(rule);
      if (matches.size() > kMostMatches) matches.resize(kMostMatches);
      for (const Match& match : matches) ASSERT_OK(replay_->Apply(rule, match).status());
      if (replay_->graph().enode_bound() > kMostENodes) return;
    }
  }

  // Expects that all matches are found at their places, and returns the names of the rules.
  std::set<std::string> ExpectFound() const {
    std::set<std::string> matching;
    for (size_t i = 0; i < replay_->rules().size(); ++i) {
      for (const Match& match : MatchesOf(i)) {
        const std::string& name = replay_->rules()[i]->name();
        EXPECT_TRUE(replay_->Has(i, match)) << name;
        matching.insert(name);
      }
    }
    return matching;
  }

  std::unique_ptr<ReplayEGraph> replay_;
};

TEST_F(ReplayEGraphTest, EachRuleIsFoundWhereItMatches) {
  for (const rules::RuleCase& each : rules::RuleCases()) {
    SCOPED_TRACE(each.rule);
    ASSERT_NO_FATAL_FAILURE(Begin(rules::ParseStatic(each.fires)));
    EXPECT_TRUE(ExpectFound().contains(each.rule));
  }
}

// concat-negated is searched at the Concat, and names neither that nor one of its operands.
TEST_F(ReplayEGraphTest, ARuleIsFoundAtWhatItsMatchDoesNotName) {
  ASSERT_NO_FATAL_FAILURE(Begin(rules::ParseStatic(R"(graph g {
    input x: float32[2,3]
    input y: float32[2,3]
    const c: float32[6] = random(1)
    a = Neg(x)
    b = Neg(y)
    joined = Concat(a, b) {axis=1}
    z = Mul(joined, c)
    output z
  })")));
  EXPECT_TRUE(ExpectFound().contains("concat-negated"));
}

TEST_F(ReplayEGraphTest, RulesAreFoundInEGraphsThatHaveGrown) {
  constexpr uint64_t kGraphs = 60;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(seed);
    const model::Graph graph = rules::RandomGraph(seed, 12);
    if (graph.outputs.empty()) continue;
    ASSERT_NO_FATAL_FAILURE(Begin(graph));
    for (int round = 0; round < 2; ++round) ASSERT_NO_FATAL_FAILURE(Grow());
    ExpectFound();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace quotient::journal
