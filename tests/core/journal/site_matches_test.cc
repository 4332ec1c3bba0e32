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

// A search merges 64 at most, so a match of more is no match that it could have found.
TEST(SiteMatchesTest, SiblingsAreFoundWhateverASearchWouldChooseAndNoMoreThanItMerges) {
  const RecordedSearch search(Products(70));
  const auto found = [&search](int count) {
    std::vector<ClassId> classes = {search.egraph().class_of(search.ENodeOf("x"))};
    for (int i = 0; i < count; ++i) {
      const ClassId weight = search.egraph().class_of(search.ENodeOf(absl::StrCat("w", i)));
      const ClassId product = search.egraph().class_of(search.ENodeOf(absl::StrCat("y", i)));
      classes.insert(classes.end(), {weight, weight, product});
    }
    StepBudget budget{StopCondition()};
    return FindSiteMatches(search.rule("matmul-merge"), search.egraph(), 0, classes, &budget);
  };
  EXPECT_THAT(found(2), SizeIs(1));
  EXPECT_THAT(found(64), SizeIs(1));
  EXPECT_THAT(found(65), IsEmpty());
}

// Each part of the Concats is t, which two Slices of s are as well, so the parts of the long one
// can be divided in more ways than are tried.
TEST(SiteMatchesTest, WhereNotAllWaysAreTriedTheBudgetNotesACut) {
  std::string parts = "a, b";
  for (int i = 1; i < 12; ++i) parts += ", a, b";
  RecordedSearch search(absl::StrCat(R"(graph g {
    input t: float32[2]
    s = Concat(t, t) {axis=0}
    a = Slice(s) {starts=[0], ends=[2], axes=[0]}
    b = Slice(s) {starts=[2], ends=[4], axes=[0]}
    few = Concat(a, b) {axis=0}
    many = Concat()",
                                     parts, ") {axis=0}\n output few, many\n}"));
  for (const Match& match : search.MatchesOf("slice-concat")) search.Apply("slice-concat", match);
  const auto class_of = [&](const char* value) {
    return search.egraph().Find(search.egraph().class_of(search.ENodeOf(value)));
  };
  ASSERT_EQ(class_of("a"), class_of("t"));
  ASSERT_EQ(class_of("b"), class_of("t"));
  StepBudget budget{StopCondition()};
  const auto find = [&](std::vector<ClassId> classes) {
    return FindSiteMatches(search.rule("concat-slices"), search.egraph(), 0, classes, &budget);
  };
  EXPECT_FALSE(find({class_of("few"), class_of("s")}).empty());
  EXPECT_FALSE(budget.was_cut());
  std::vector<ClassId> classes(18, class_of("s"));
  classes[0] = class_of("many");
  find(classes);
  EXPECT_TRUE(budget.was_cut());
}

// Counts how often it is searched.
class Counting final : public egraph::Rule {
 public:
  const std::string& name() const override { return name_; }
  const std::string& equation() const override { return name_; }
  const egraph::Anchors* anchors() const override { return &anchors_; }
  void Search(const egraph::EGraph& /*graph*/, egraph::MatchSink& /*sink*/) const override {
    ++searches;
  }
  absl::StatusOr<bool> Apply(egraph::EGraph& /*graph*/, const Match& /*match*/,
                             egraph::Origin /*origin*/) const override {
    return false;
  }

  mutable int searches = 0;

 private:
  const std::string name_ = "counting";
  const egraph::Anchors anchors_ = {.of_any_kind = true, .kinds = {}};
};

// Each search may look at all e-nodes that read a class, so one search around each would take
// quadratic time.
TEST(SiteMatchesTest, ManyAnchorsNeedFewSearches) {
  const RecordedSearch search(Products(500));
  const ClassId x = search.egraph().class_of(search.ENodeOf("x"));
  const Counting rule;
  StepBudget budget{StopCondition()};
  EXPECT_FALSE(FindAnchor(rule, search.egraph(), {.classes = {x}, .ops = {}}, &budget).valid());
  EXPECT_LE(rule.searches, 10);
  rule.searches = 0;
  EXPECT_THAT(FindSiteMatches(rule, search.egraph(), 0, std::span(&x, 1), &budget), IsEmpty());
  EXPECT_LE(rule.searches, 10);
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

// All parts are adjacent Slices of one tensor.
TEST(SiteMatchesTest, AConcatOfManySlicesIsDividedAgain) {
  constexpr int kParts = 3000;
  std::string nodes, parts;
  for (int i = 0; i < kParts; ++i) {
    absl::StrAppend(&nodes, "s", i, " = Slice(x) {starts=[", i, "], ends=[", i + 1,
                    "], axes=[0]}\n");
    absl::StrAppend(&parts, i == 0 ? "" : ", ", "s", i);
  }
  const RecordedSearch search(absl::StrCat("graph g {\ninput x: float32[", kParts, "]\n", nodes,
                                           "y = Concat(", parts, ") {axis=0}\noutput y\n}"));
  const std::vector<Match> matches = search.MatchesOf("concat-slices");
  ASSERT_THAT(matches, SizeIs(1));
  StepBudget budget{StopCondition()};
  const std::vector<Match> found = FindSiteMatches(search.rule("concat-slices"), search.egraph(), 0,
                                                   matches[0].classes, &budget);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].ops, matches[0].ops);
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
