#include "core/search/saturate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/egraph/pattern.h"
#include "core/extract/extract.h"
#include "tests/core/search/term_search.h"
#include "tests/support/egraph/algebra_domain.h"
#include "tests/support/egraph/graph_text.h"
#include "tests/support/egraph/rewriting_data.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::search {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::Rule;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<const Rule*> Pointers(const std::vector<std::unique_ptr<Rule>>& rules) {
  std::vector<const Rule*> pointers;
  for (const auto& rule : rules) pointers.push_back(rule.get());
  return pointers;
}

class SaturateTest : public ::testing::Test {
 protected:
  void Start(absl::string_view rules, absl::string_view term) {
    auto compiled = egraph::CompileRules(rules, vocabulary_);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    rules_ = *std::move(compiled);
    root_ = *egraph::AddTerm(graph_, term, vocabulary_);
  }
  Outcome Run(const Limits& limits = {}, const StopCondition& stop = {},
              const ProgressHook& hook = {}) {
    const std::vector<const Rule*> rules = Pointers(rules_);
    Rewriter rewriter(&graph_, rules);
    const absl::StatusOr<Outcome> outcome = Saturate(rewriter, limits, stop, hook);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_FALSE(graph_.dirty());
    return *outcome;
  }
  bool IsRoot(absl::string_view term) {
    return graph_.Find(*egraph::AddTerm(graph_, term, vocabulary_)) == graph_.Find(root_);
  }
  // a + (b + (c + ..)): n terms have exponentially many forms.
  static std::string LongSum(int n) {
    std::string sum = "x0";
    for (int i = 1; i < n; ++i) sum = absl::StrCat("(+ x", i, " ", sum, ")");
    return sum;
  }

  testing::SymbolTable table_;
  egraph::Vocabulary vocabulary_ = testing::SymbolVocabulary(table_);
  EGraph graph_{&table_, nullptr};
  std::vector<std::unique_ptr<Rule>> rules_;
  ClassId root_;
};

constexpr absl::string_view kSums =
    "comm: (+ ?a ?b) => (+ ?b ?a)\n"
    "assoc: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)\n";

TEST_F(SaturateTest, FindsEverythingAndSaysSo) {
  Start(kSums, "(+ a (+ b c))");
  const Outcome outcome = Run();
  EXPECT_EQ(outcome.reason, StopReason::kSaturated);
  EXPECT_TRUE(IsRoot("(+ (+ c b) a)"));
  EXPECT_EQ(graph_.num_classes(), 7);  // subsets of {a, b, c} but the empty one
  EXPECT_EQ(graph_.num_enodes(), 15);  // 3 leaves, 2 a pair, 6 for all
  EXPECT_GT(outcome.by_rule[0].changed, 0);
  EXPECT_GT(outcome.by_rule[1].changed, 0);
  EXPECT_EQ(outcome.by_rule[0].changed + outcome.by_rule[1].changed, outcome.matches_applied);
}

// The second run applies the matches that waited when the first one ended, and searches the rest.
TEST_F(SaturateTest, ASecondRunGoesOnWhereTheFirstEnded) {
  Start(kSums, "(+ a (+ b (+ c d)))");
  Limits limits;
  limits.max_iterations = 1;
  EXPECT_EQ(Run(limits).reason, StopReason::kIterations);
  limits.max_iterations = 2;
  limits.max_matches_per_rule = 1;
  EXPECT_EQ(Run(limits).reason, StopReason::kIterations);
  EXPECT_EQ(Run().reason, StopReason::kSaturated);
  EXPECT_EQ(graph_.num_classes(), 15);  // subsets of {a, b, c, d} but the empty one
}

TEST_F(SaturateTest, NothingToDoIsSaturated) {
  Start(kSums, "a");
  const Outcome outcome = Run();
  EXPECT_EQ(outcome.reason, StopReason::kSaturated);
  EXPECT_EQ(outcome.iterations, 0);
}

TEST_F(SaturateTest, TheNodeLimitHoldsWithinAnIteration) {
  Start(kSums, LongSum(12));
  Limits limits;
  limits.max_enodes = 500;
  const Outcome outcome = Run(limits);
  EXPECT_EQ(outcome.reason, StopReason::kNodeLimit);
  EXPECT_GE(graph_.num_enodes(), 400);
  EXPECT_LE(graph_.num_enodes(), 502);  // one right side has two e-nodes
}

TEST_F(SaturateTest, AGraphAboveTheLimitIsLeftAlone) {
  Start(kSums, LongSum(12));
  Limits limits;
  limits.max_enodes = 10;
  EXPECT_EQ(Run(limits).reason, StopReason::kNodeLimit);
  EXPECT_EQ(graph_.num_enodes(), 23);
}

TEST_F(SaturateTest, IterationsAreCounted) {
  Start("grow: f(?x) => g(f(h(?x)))", "(f a)");
  Limits limits;
  limits.max_iterations = 5;
  std::vector<int64_t> seen;
  const Outcome outcome = Run(limits, {}, [&seen](const EGraph& graph, const Outcome& so_far) {
    EXPECT_FALSE(graph.dirty());
    seen.push_back(so_far.iterations);
  });
  EXPECT_EQ(outcome.reason, StopReason::kIterations);
  EXPECT_EQ(outcome.iterations, 5);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5));
}

// More matches than an iteration takes: the rest comes later, nothing is lost.
TEST_F(SaturateTest, BannedRulesStillFinish) {
  std::string term = "end";
  for (int i = 0; i < 50; ++i) term = absl::StrCat("(f ", term, ")");
  Start("mark: f(?x) => g(?x)", term);
  Limits limits;
  limits.max_matches_per_rule = 7;
  const Outcome outcome = Run(limits);
  EXPECT_EQ(outcome.reason, StopReason::kSaturated);
  EXPECT_EQ(outcome.matches_applied, 50);
  EXPECT_EQ(outcome.iterations, 4);
}

TEST_F(SaturateTest, ARuleThatOverflowsSitsOutTheNextIterations) {
  std::string term = "(n end)";
  for (int i = 0; i < 50; ++i) term = absl::StrCat("(f ", term, ")");
  Start("many: f(?x) => g(?x)\ngrow: n(?x) => n(t(?x))\n", term);
  std::vector<int64_t> applied;
  Limits limits;
  limits.max_matches_per_rule = 7;
  limits.max_iterations = 4;
  Run(limits, {}, [&applied](const EGraph&, const Outcome& so_far) {
    applied.push_back(so_far.by_rule[0].changed);
  });
  EXPECT_THAT(applied, ElementsAre(7, 7, 7, 21));
}

TEST_F(SaturateTest, NoRuleUsesUpTheRoomAlone) {
  std::string term = "end";
  for (int i = 0; i < 100; ++i) term = absl::StrCat("(f ", term, ")");
  Start("one: f(?x) => g(?x)\ntwo: f(?x) => h(?x)\n", term);
  Limits limits;
  limits.max_enodes = 151;
  const Outcome outcome = Run(limits);
  EXPECT_EQ(outcome.reason, StopReason::kNodeLimit);
  // Each match makes the e-node of its right side.
  EXPECT_THAT(outcome.by_rule, ElementsAre(RuleCounts{25, 25, 25}, RuleCounts{25, 25, 25}));
}

TEST_F(SaturateTest, StopsWhenCancelled) {
  Start(kSums, LongSum(12));
  CancelToken token;
  const Outcome outcome =
      Run({}, StopCondition(&token), [&](const EGraph&, const Outcome&) { token.Cancel(); });
  EXPECT_EQ(outcome.reason, StopReason::kCancelled);
  EXPECT_EQ(outcome.iterations, 1);
}

TEST_F(SaturateTest, IsDeterministic) {
  std::vector<std::string> runs;
  for (int run = 0; run < 2; ++run) {
    testing::SymbolTable table;
    const egraph::Vocabulary vocabulary = testing::SymbolVocabulary(table);
    EGraph graph(&table, nullptr);
    const auto rules = *egraph::CompileRules(kSums, vocabulary);
    ASSERT_TRUE(egraph::AddTerm(graph, LongSum(9), vocabulary).ok());
    Limits limits;
    limits.max_enodes = 3000;
    limits.max_matches_per_rule = 100;
    const std::vector<const Rule*> pointers = Pointers(rules);
    Rewriter rewriter(&graph, pointers);
    ASSERT_TRUE(Saturate(rewriter, limits, {}, {}).ok());
    runs.push_back(testing::TextOf(graph));
  }
  EXPECT_GT(runs[0].size(), 10'000u);
  EXPECT_EQ(runs[0], runs[1]);
}

class ErrorRule : public Rule {
 public:
  const std::string& name() const override { return name_; }
  const std::string& equation() const override { return name_; }
  void Search(const EGraph&, egraph::MatchSink& sink) const override { sink.Add({}); }
  absl::StatusOr<bool> Apply(EGraph&, const egraph::Match&, egraph::Origin) const override {
    return absl::InternalError("broken rule");
  }

 private:
  const std::string name_ = "error";
};

TEST_F(SaturateTest, AWrongRuleIsToldWithItsDerivations) {
  testing::AlgebraDomain domain(testing::MathAlgebra());
  EGraph graph(&domain.table(), &domain);
  graph.RecordProofs();
  const auto rules =
      egraph::CompileRules("twice: (f ?x) => (+ ?x ?x)\nwrong: (f ?x) => 5", domain.vocabulary());
  ASSERT_TRUE(rules.ok() && egraph::AddTerm(graph, "(f 1)", domain.vocabulary()).ok());
  const std::vector<const Rule*> pointers = Pointers(*rules);
  Rewriter rewriter(&graph, pointers);
  const auto outcome = Saturate(rewriter, {}, {}, {});
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(outcome.status().message()),
              AllOf(HasSubstr("contradiction"), HasSubstr("(f 1), of the input")));
}

TEST_F(SaturateTest, ABrokenRuleIsAnError) {
  Start("", "a");
  const ErrorRule error;
  const Rule* const rules[] = {&error};
  Rewriter rewriter(&graph_, rules);
  const auto outcome = Saturate(rewriter, {}, {}, {});
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kInternal);
}

TEST(Strategies, AreFoundByName) {
  EXPECT_THAT(StrategyNames(), ::testing::IsSupersetOf({"mcts", "saturate", "pact", "backtrack"}));
  for (const std::string& name : StrategyNames()) EXPECT_EQ(FindStrategy(name)->name(), name);
  EXPECT_EQ(FindStrategy("no such"), nullptr);
}

class StrategiesTest : public TermSearchTest {};

TEST_F(StrategiesTest, TimeIsThatOfTheTasksClock) {
  for (const std::string& name : StrategyNames()) {
    SCOPED_TRACE(name);
    const testing::TickingClock clock(/*step_ns=*/1'000'000'000);
    Task task{.clock = clock, .limits = task_.limits};
    const auto workspace = *Make();
    const auto outcome = FindStrategy(name)->Run(*workspace, task);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    ASSERT_GE(outcome->improvements.size(), 2u);
    double before = 0;
    for (const Improvement& improvement : outcome->improvements) {
      EXPECT_EQ(improvement.seconds, std::floor(improvement.seconds));
      EXPECT_GT(improvement.seconds, before);
      before = improvement.seconds;
    }
  }
}

class SaturateStrategyTest : public TermSearchTest {};

TEST_F(SaturateStrategyTest, TellsTheCostAtTheStartAndAtTheEnd) {
  const auto workspace = *Make();
  const double start = workspace->Cost({});
  const Outcome outcome = Run(SaturateStrategy(), *workspace);
  ASSERT_EQ(outcome.improvements.size(), 2u);
  EXPECT_EQ(outcome.improvements[0].cost, start);
  EXPECT_EQ(outcome.improvements[1].cost, workspace->Cost({}));
  EXPECT_LT(outcome.improvements[1].cost, start);
  EXPECT_GE(outcome.improvements[1].seconds, outcome.improvements[0].seconds);
}

TEST_F(SaturateStrategyTest, TellsNoCostTwice) {
  term_ = "(+ a b)";
  const auto workspace = *Make();
  const Outcome outcome = Run(SaturateStrategy(), *workspace);
  ASSERT_EQ(outcome.improvements.size(), 1u);
  EXPECT_EQ(outcome.improvements[0].cost, 3);
}

class Size : public extract::CostFunction {
  double Cost(egraph::ENodeId) const override { return 1; }
};

// Truth values of the formula `a` = false and `a` = true; how many operators and leaves it has.
struct Meaning {
  std::array<double, 2> values;
  double size;
};
Meaning MeaningOf(const testing::AlgebraDomain& domain, const EGraph& graph,
                  const extract::Selection& selection, ClassId id) {
  const egraph::ENodeView node = graph.node(selection.of(graph.Find(id)));
  const std::string word = domain.word(node.op);
  if (word == "a") return {{0, 1}, 1};
  if (node.children.empty()) {
    const double value = *testing::PropAlgebra().parse_leaf(word);
    return {{value, value}, 1};
  }
  Meaning meaning = {{}, 1};
  std::array<std::vector<double>, 2> values;
  for (ClassId child : node.children) {
    const Meaning part = MeaningOf(domain, graph, selection, child);
    meaning.size += part.size;
    for (int i : {0, 1}) values[i].push_back(part.values[i]);
  }
  for (int i : {0, 1}) meaning.values[i] = *testing::PropAlgebra().fold(word, values[i]);
  return meaning;
}

// Saturation and extraction on random formulas: the result is smaller and has the same truth table.
TEST(SaturateProp, FormulasBecomeSmallAndKeepTheirMeaning) {
  for (int seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(seed);
    testing::AlgebraDomain domain(testing::PropAlgebra());
    const egraph::Vocabulary vocabulary = domain.vocabulary();
    const auto rules =
        *egraph::CompileRules(testing::ReadRewritingFile("geb/prop-rules.txt"), vocabulary);
    EGraph graph(&domain.table(), &domain);
    const std::string term =
        testing::ReadRewritingFile(absl::StrCat("geb/prop_d7_s", seed, ".txt"));
    const ClassId root[] = {*egraph::AddTerm(graph, term, vocabulary)};
    const Size size;
    const auto smallest = [&] {
      const auto selection = *extract::FindExtractor("tree")->Extract({graph, size, root}, {});
      return MeaningOf(domain, graph, selection, root[0]);
    };
    ASSERT_TRUE(graph.Rebuild().ok());
    const Meaning before = smallest();
    Limits limits;
    limits.max_enodes = 2000;
    const std::vector<const Rule*> pointers = Pointers(rules);
    Rewriter rewriter(&graph, pointers);
    const auto outcome = Saturate(rewriter, limits, {}, {});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    const Meaning after = smallest();
    EXPECT_EQ(after.values, before.values);
    EXPECT_LT(after.size, before.size / 2);
  }
}

}  // namespace
}  // namespace quotient::search
