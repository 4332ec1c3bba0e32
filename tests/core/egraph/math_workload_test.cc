// The e-node counts of egglog's "math" workload: a step applies all rules to one frozen e-graph.
// Any match lost, found twice or built wrongly, any congruence missed changes them. And rules with
// guards that look at values, which come to be known while the rules run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/egraph/matcher.h"
#include "core/egraph/pattern.h"
#include "tests/support/egraph/algebra_domain.h"
#include "tests/support/egraph/apply_all.h"
#include "tests/support/egraph/rewriting_data.h"
#include "tests/support/egraph/state_image.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;

// The last step makes a million e-nodes: too long under a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSteps = 10;
#else
constexpr int kSteps = 11;
#endif

// The e-graph of the start expressions and its rules.
class Workload {
 public:
  Workload() : vocabulary_(testing::SymbolVocabulary(table_)), graph_(&table_, nullptr) {
    rules_ = *CompileRules(testing::ReadRewritingFile("math/rules.txt"), vocabulary_);
    std::vector<const Rule*> pointers;
    for (const auto& rule : rules_) pointers.push_back(rule.get());
    matcher_ = std::make_unique<Matcher>(table_, pointers);
    for (const std::string& line : testing::ReadRewritingLines("math/expressions.txt")) {
      EXPECT_TRUE(AddTerm(graph_, line, vocabulary_).ok());
    }
    EXPECT_TRUE(graph_.Rebuild().ok());
  }

  EGraph& graph() { return graph_; }
  Matcher& matcher() { return *matcher_; }

  void Apply() {
    ASSERT_TRUE(testing::ApplyAll(*matcher_, rules_.size(), graph_).ok());
    ASSERT_TRUE(graph_.Rebuild().ok());
  }

  // Little by little; true if that was all.
  bool SearchUpTo(size_t waiting) {
    Matcher::Bounds bounds;
    bounds.waiting.assign(rules_.size(), waiting);
    matcher_->Search(graph_, bounds);
    bool all = true;
    for (size_t i = 0; i < rules_.size(); ++i) all &= matcher_->num_waiting(i) < waiting;
    return all;
  }

 private:
  testing::SymbolTable table_;
  const Vocabulary vocabulary_;
  EGraph graph_;
  std::vector<std::unique_ptr<Rule>> rules_;
  std::unique_ptr<Matcher> matcher_;
};

TEST(MathWorkload, HasTheKnownNumbersOfENodes) {
  Workload workload;
  std::vector<int64_t> counts = {workload.graph().num_enodes()};
  for (int step = 1; step <= kSteps; ++step) {
    workload.matcher().Search(workload.graph());
    workload.Apply();
    counts.push_back(workload.graph().num_enodes());
  }
  std::vector<int64_t> known = {35,   69,   118,  208,   389,    784,
                                1576, 3160, 8113, 28303, 136446, 1047896};
  known.resize(kSteps + 1);
  EXPECT_EQ(counts, known);
}

TEST(MathWorkload, SearchesThatStopAndGoOnFindTheSame) {
  Workload workload;
  std::vector<int64_t> counts = {workload.graph().num_enodes()};
  for (int step = 1; step <= 9; ++step) {
    for (size_t waiting = 1; !workload.SearchUpTo(waiting);) waiting += 1 + waiting / 4;
    workload.Apply();
    counts.push_back(workload.graph().num_enodes());
  }
  EXPECT_THAT(counts, ElementsAre(35, 69, 118, 208, 389, 784, 1576, 3160, 8113, 28303));
}

// With classes that are large enough for lists by kind.
TEST(MathWorkload, StepsTakenBackLeaveNoTrace) {
  Workload workload;
  EGraph& graph = workload.graph();
  std::vector<int64_t> counts = {graph.num_enodes()};
  for (int step = 1; step <= 9; ++step) {
    const std::vector<uint32_t> before = testing::ImageOf(graph);
    std::vector<uint32_t> after;
    for (const size_t waiting : {30, 200, 200, 30}) {
      graph.Mark();
      workload.matcher().Mark();
      workload.SearchUpTo(waiting);
      workload.Apply();
      if (waiting == 200) {
        if (after.empty()) after = testing::ImageOf(graph);
        EXPECT_EQ(testing::ImageOf(graph), after) << "the same again has the same outcome";
      }
      graph.Rollback();
      workload.matcher().Rollback();
      ASSERT_EQ(testing::ImageOf(graph), before);
    }
    workload.matcher().Search(graph);
    workload.Apply();
    counts.push_back(graph.num_enodes());
  }
  EXPECT_THAT(counts, ElementsAre(35, 69, 118, 208, 389, 784, 1576, 3160, 8113, 28303));
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
      ASSERT_TRUE(testing::ApplyAll(matcher, pointers.size(), graph).ok());
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
