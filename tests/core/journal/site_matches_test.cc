// What FindSiteMatches finds is compared with a search of the whole e-graph in replay_egraph_test.

#include "core/journal/site_matches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/egraph/ranges.h"
#include "tests/core/journal/recorded_search.h"
#include "tests/core/rules/random_graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::journal {
namespace {

using egraph::ClassId;
using egraph::ENodeId;
using egraph::Match;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Takes all matches.
class All final : public egraph::MatchSink {
 public:
  bool Add(Match match) override {
    matches.push_back(std::move(match));
    return true;
  }
  std::vector<Match> matches;
};

// The first e-node around which a rule finds a match, by searching around one after the other.
ENodeId AnchorOneByOne(const egraph::Rule& rule, const egraph::EGraph& graph, const Match& wanted) {
  for (uint32_t i = 0; i < graph.enode_bound(); ++i) {
    const ENodeId enode(i);
    const egraph::Anchors& anchors = *rule.anchors();
    const bool is_anchor =
        anchors.of_any_kind || std::ranges::count(anchors.kinds, graph.kind(enode)) > 0;
    if (!graph.live(enode) || !is_anchor) continue;
    All all;
    rule.SearchForClasses(graph, std::span(&enode, 1), wanted.classes, all);
    for (const Match& match : all.matches) {
      if (match.ops == wanted.ops && match.classes == wanted.classes) return enode;
    }
  }
  return ENodeId();
}

TEST(SiteMatchesTest, TheAnchorIsTheFirstAroundWhichTheMatchIsFound) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const model::Graph graph = rules::RandomGraph(seed, 12);
    if (graph.outputs.empty()) continue;
    StepBudget budget{StopCondition()};
    ASSERT_OK_AND_ASSIGN(
        const auto replay,
        ReplayEGraph::Begin(graph, graph, {.max_opset = 23, .max_folded_bytes = 1 << 20}, &budget));
    for (const egraph::Rule* const rule : replay->rules()) {
      if (!rule->programs().empty() || rule->anchors() == nullptr) continue;
      for (const Match& match : rules::MatchesOf(replay->tensors(), *rule)) {
        EXPECT_EQ(FindAnchor(*rule, replay->graph(), match, &budget),
                  AnchorOneByOne(*rule, replay->graph(), match))
            << rule->name();
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 30);
}

// Products of one input, which one rule merges in groups of 64.
std::string Products(int count) {
  std::string text = "graph g {\n  input x: float32[2,4]\n";
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, "  const w", i, ": float32[4,2] = random(", i + 1, ")\n  y", i,
                    " = MatMul(x, w", i, ")\n");
  }
  for (int i = 0; i < count; ++i) absl::StrAppend(&text, "  output y", i, "\n");
  return text + "}";
}

TEST(SiteMatchesTest, WorkGrowsNoFasterThanTheNumberOfAnchors) {
  const auto steps = [](int count) {
    const RecordedSearch search(Products(count));
    const std::vector<Match> matches = search.MatchesOf("matmul-merge");
    EXPECT_FALSE(matches.empty());
    StepBudget budget{StopCondition()};
    const Match& last = matches.back();
    EXPECT_THAT(FindSiteMatches(search.rule("matmul-merge"), search.egraph(), last.alternative,
                                last.classes, &budget),
                SizeIs(1));
    // A match that is not there is looked for around all e-nodes.
    Match other = last;
    other.ops[0] = egraph::OpId(0);
    EXPECT_FALSE(FindAnchor(search.rule("matmul-merge"), search.egraph(), other, &budget).valid());
    return budget.taken();
  };
  EXPECT_LT(steps(600), 3 * steps(300));
}

TEST(SiteMatchesTest, AClassThatAMatchNamesManyTimesIsVisitedOnce) {
  const auto steps = [](int count) {
    std::string text = "graph g {\n  input x: float32[2]\n  a = Neg(x)\n  y = Concat(a";
    for (int i = 1; i < count; ++i) absl::StrAppend(&text, ", a");
    const RecordedSearch search(text + ") {axis=0}\n  z = Concat(y, x) {axis=0}\n  output z\n}");
    const std::vector<Match> matches = search.MatchesOf("concat-concat");
    EXPECT_THAT(matches, SizeIs(1));
    StepBudget budget{StopCondition()};
    EXPECT_TRUE(
        FindAnchor(search.rule("concat-concat"), search.egraph(), matches[0], &budget).valid());
    return budget.taken();
  };
  EXPECT_LT(steps(200), 3 * steps(100));
}

TEST(SiteMatchesTest, NothingIsFoundOnceTheBudgetIsOver) {
  const RecordedSearch search(Products(3));
  const std::vector<Match> matches = search.MatchesOf("matmul-merge");
  ASSERT_FALSE(matches.empty());
  StepBudget budget(StopCondition(), 0);
  budget.Take(1);
  EXPECT_THAT(
      FindSiteMatches(search.rule("matmul-merge"), search.egraph(), 0, matches[0].classes, &budget),
      IsEmpty());
  EXPECT_FALSE(
      FindAnchor(search.rule("matmul-merge"), search.egraph(), matches[0], &budget).valid());
}

}  // namespace
}  // namespace quotient::journal
