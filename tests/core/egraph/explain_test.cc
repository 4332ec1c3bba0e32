// Explanations: chains begin and end where they should, each link rewrites one place by a rule's
// two sides, and the steps alone, under congruence, prove the equality.

#include "core/egraph/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/rng.h"
#include "core/egraph/matcher.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_text.h"
#include "tests/support/egraph/algebra_domain.h"
#include "tests/support/egraph/apply_all.h"
#include "tests/support/egraph/random_terms.h"
#include "tests/support/egraph/rewriting_data.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;

// An e-graph that records, saturated for a few steps.
class Recorded {
 public:
  Recorded(absl::string_view rules, const std::vector<std::string>& terms, int steps)
      : vocabulary_(testing::SymbolVocabulary(table_)), rules_(*CompileRules(rules, vocabulary_)) {
    graph_.RecordProofs();
    for (const std::string& term : terms) EXPECT_TRUE(AddTerm(graph_, term, vocabulary_).ok());
    EXPECT_TRUE(graph_.Rebuild().ok());
    for (const auto& rule : rules_) pointers_.push_back(rule.get());
    Matcher matcher(table_, pointers_);
    for (int i = 0; i < steps; ++i) {
      matcher.Search(graph_);
      EXPECT_TRUE(testing::ApplyAll(matcher, rules_.size(), graph_).ok());
      EXPECT_TRUE(graph_.Rebuild().ok());
    }
    explainer_ = std::make_unique<Explainer>(graph_, pointers_);
  }

  TermId Read(const std::string& text) { return Build(*ParseTerm(text)); }
  std::string Text(TermId id) const { return explainer_->terms().Text(id, table_); }

  // "rule: term", backwards "rule~: term".
  std::vector<std::string> Chain(const std::string& from, const std::string& to) {
    const auto chain = explainer_->Chain(Read(from), Read(to), 100);
    std::vector<std::string> lines;
    for (const ChainLink& link : chain.value_or(std::vector<ChainLink>())) {
      lines.push_back(absl::StrCat(rules_[link.step.origin - 1]->name(),
                                   link.step.forward ? ": " : "~: ", Text(link.whole)));
    }
    return lines;
  }

  Explainer& explainer() { return *explainer_; }
  const EGraph& graph() const { return graph_; }
  const Rule& rule(Origin origin) const { return *rules_[origin - 1]; }

 private:
  TermId Build(const Term& term) {
    std::vector<TermId> children;
    for (const Term& child : term.children) children.push_back(Build(child));
    return explainer_->Add(table_.Op(term.name), children);
  }

  testing::SymbolTable table_;
  EGraph graph_{&table_, nullptr};
  const Vocabulary vocabulary_;
  const std::vector<std::unique_ptr<Rule>> rules_;
  std::vector<const Rule*> pointers_;
  std::unique_ptr<Explainer> explainer_;
};

TEST(ExplainTest, AChainRewritesOnePlaceAtATime) {
  Recorded math("add-zero: (+ ?a 0) => ?a\nmul-one: (* ?a 1) => ?a\ncomm: (* ?a ?b) => (* ?b ?a)",
                {"(f (* 1 (+ x 0)))"}, 3);
  EXPECT_THAT(math.Chain("(f (* 1 (+ x 0)))", "(f x)"),
              ElementsAre("comm: (f (* (+ x 0) 1))", "add-zero: (f (* x 1))", "mul-one: (f x)"));
  EXPECT_THAT(math.Chain("(f x)", "(f (+ x 0))"), ElementsAre("add-zero~: (f (+ x 0))"));
  EXPECT_THAT(math.Chain("x", "x"), ElementsAre());
}

TEST(ExplainTest, AStepThatIsNeededTwiceIsOneStepButTwoLinks) {
  Recorded math("add-zero: (+ ?a 0) => ?a", {"(g (+ x 0) (+ x 0))"}, 1);
  const TermId from = math.Read("(g (+ x 0) (+ x 0))"), to = math.Read("(g x x)");
  EXPECT_EQ(math.explainer().Explain(from, to).size(), 1u);
  EXPECT_THAT(math.Chain("(g (+ x 0) (+ x 0))", "(g x x)"),
              ElementsAre("add-zero: (g x (+ x 0))", "add-zero: (g x x)"));
  EXPECT_EQ(math.explainer().Chain(from, to, 1), std::nullopt);
}

TEST(ExplainTest, TermsThatAreNotInTheGraphAreExplainedToo) {
  Recorded math("add-zero: (+ ?a 0) => ?a", {"(+ x 0)"}, 1);
  EXPECT_THAT(math.Chain("(f (f (+ x 0)))", "(f (f x))"), ElementsAre("add-zero: (f (f x))"));
  EXPECT_FALSE(math.explainer().Equal(math.Read("x"), math.Read("y")));
}

TEST(ExplainTest, WhatTheAnalysisMadeEqualIsSaid) {
  testing::AlgebraDomain domain(testing::MathAlgebra());
  EGraph graph(&domain.table(), &domain);
  graph.RecordProofs();
  const Vocabulary vocabulary = domain.vocabulary();
  ASSERT_TRUE(AddTerm(graph, "(+ 2 3)", vocabulary).ok());
  ASSERT_TRUE(graph.Rebuild().ok());
  Explainer explainer(graph, {});
  const ENodeId sum = graph.LookupNode(
      domain.table().Op("+"),
      std::vector<ClassId>{*AddTerm(graph, "2", vocabulary), *AddTerm(graph, "3", vocabulary)});
  const ENodeId five = graph.LookupNode(domain.table().Op("5"), {});
  const auto steps = explainer.Explain(explainer.TermOf(sum), explainer.TermOf(five));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].origin, kAnalysis);
}

TEST(ExplainTest, ARefusedUnionIsToldWithBothDerivations) {
  testing::AlgebraDomain domain(testing::MathAlgebra());
  EGraph graph(&domain.table(), &domain);
  graph.RecordProofs();
  const Vocabulary vocabulary = domain.vocabulary();
  const auto rules = CompileRules("twice: (f ?x) => (+ ?x ?x)\nwrong: (f ?x) => 5", vocabulary);
  ASSERT_TRUE(rules.ok()) << rules.status();
  ASSERT_TRUE(AddTerm(graph, "(f 1)", vocabulary).ok());
  ASSERT_TRUE(graph.Rebuild().ok());
  const std::vector<const Rule*> pointers = {(*rules)[0].get(), (*rules)[1].get()};
  Matcher matcher(domain.table(), pointers);
  matcher.Search(graph);
  EXPECT_EQ(graph.refused_union(), std::nullopt);
  absl::Status status = testing::ApplyAll(matcher, pointers.size(), graph);
  if (status.ok()) status = graph.Rebuild();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  ASSERT_TRUE(graph.refused_union().has_value());
  EXPECT_EQ(RefusalText(graph, pointers, *graph.refused_union()),
            "wrong would unite\n  (f 1), of the input\n  5, added by wrong");
}

// Knows how deep a class's first term is, and lets only classes of equal depth be united.
class EqualDepths : public Analysis {
 public:
  absl::Status Make(const EGraph& /*graph*/, OpId /*op*/, std::span<const ClassId> children,
                    ClassId fresh) override {
    int depth = 0;
    for (const ClassId child : children) depth = std::max(depth, depths_[child.value()] + 1);
    depths_.resize(fresh.value());
    depths_.push_back(depth);
    return absl::OkStatus();
  }
  absl::Status Merge(const EGraph& /*graph*/, ClassId kept, ClassId absorbed) override {
    if (depths_[kept.value()] == depths_[absorbed.value()]) return absl::OkStatus();
    return absl::FailedPreconditionError("of different depths");
  }

 private:
  std::vector<int> depths_;  // By ClassId.
};

// "grow" would unite classes of different depths, which is refused here; no other union explains
// it.
TEST(ExplainTest, WhatWasRefusedExplainsNothing) {
  testing::SymbolTable table;
  const Vocabulary vocabulary = testing::SymbolVocabulary(table);
  EqualDepths analysis;
  EGraph graph(&table, &analysis);
  graph.RecordProofs();
  const auto rules = CompileRules("grow: (f ?x) => (f (f ?x))\nname: (f ?x) => (g ?x)", vocabulary);
  ASSERT_TRUE(rules.ok() && AddTerm(graph, "(f x)", vocabulary).ok());
  ASSERT_TRUE(graph.Rebuild().ok());
  const std::vector<const Rule*> pointers = {(*rules)[0].get(), (*rules)[1].get()};
  Matcher matcher(table, pointers);
  matcher.Search(graph);
  ASSERT_TRUE(testing::ApplyAll(matcher, pointers.size(), graph).ok());
  ASSERT_TRUE(graph.Rebuild().ok());
  Explainer explainer(graph, pointers);
  const TermId x = explainer.Add(table.Op("x"), {});
  const TermId fx = explainer.Add(table.Op("f"), std::vector<TermId>{x});
  EXPECT_FALSE(explainer.Equal(fx, explainer.Add(table.Op("f"), std::vector<TermId>{fx})));
  EXPECT_TRUE(explainer.Equal(fx, explainer.Add(table.Op("g"), std::vector<TermId>{x})));
}

// Whether `id` is `pattern` under the bindings, which grow.
bool IsInstance(const Recorded& graph, const TermTable& terms, const Term& pattern, TermId id,
                std::map<std::string, TermId>& bindings) {
  if (pattern.sort == Term::Sort::kVariable) {
    return bindings.emplace(pattern.name, id).first->second == id;
  }
  const std::string text = graph.Text(id);
  const auto children = terms.children(id);
  const std::string word = children.empty() ? text : text.substr(1, text.find(' ') - 1);
  if (word != pattern.name || children.size() != pattern.children.size()) return false;
  for (size_t i = 0; i < children.size(); ++i) {
    if (!IsInstance(graph, terms, pattern.children[i], children[i], bindings)) return false;
  }
  return true;
}

TEST(ExplainTest, EveryStepOfTheMathWorkloadIsItsRule) {
  Recorded math(testing::ReadRewritingFile("math/rules.txt"),
                testing::ReadRewritingLines("math/expressions.txt"), 6);
  Explainer& explainer = math.explainer();
  int steps = 0;
  for (const ClassId id : math.graph().classes()) {
    const ENodeId first = math.graph().nodes(id).front();
    for (const ENodeId other : math.graph().nodes(id)) {
      for (const RewriteStep& step :
           explainer.Explain(explainer.TermOf(first), explainer.TermOf(other))) {
        const RuleText rule = *ParseRuleText(math.rule(step.origin).equation());
        std::map<std::string, TermId> bindings;
        const TermId left = step.forward ? step.before : step.after;
        const TermId right = step.forward ? step.after : step.before;
        ASSERT_TRUE(IsInstance(math, explainer.terms(), rule.left[0][0], left, bindings) &&
                    IsInstance(math, explainer.terms(), rule.right[0], right, bindings))
            << rule.equation << ": " << math.Text(left) << ", " << math.Text(right);
        ++steps;
      }
    }
  }
  EXPECT_GT(steps, 1000);
}

// The steps and congruence alone prove it.
bool Proves(const TermTable& terms, const std::vector<RewriteStep>& steps, TermId from, TermId to) {
  ProofForest forest(&terms);
  forest.TakeInTerms();
  for (const RewriteStep& step : steps) forest.Unite(step.before, step.after, step.origin);
  return forest.Equal(from, to);
}

// Each link differs from the one before in what its step replaces, once.
bool IsOneRewrite(const TermTable& terms, TermId before, TermId after, const RewriteStep& step) {
  if (before == step.before && after == step.after) return true;
  const auto a = terms.children(before), b = terms.children(after);
  if (terms.op(before) != terms.op(after) || a.size() != b.size()) return false;
  int rewritten = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (!IsOneRewrite(terms, a[i], b[i], step)) return false;
    ++rewritten;
  }
  return rewritten == 1;
}

TEST(ExplainTest, RandomRulesAreExplained) {
  int explained = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<std::string> rules;
    for (int i = 0; i < 3; ++i) rules.push_back(testing::MakeRandomRule(rng));
    std::vector<std::string> terms;
    for (int i = 0; i < 8; ++i) {
      const testing::RandomNode node = testing::MakeRandomNode(rng, terms.size());
      std::vector<std::string> children;
      for (size_t child : node.children) children.push_back(terms[child]);
      terms.push_back(children.empty()
                          ? node.word
                          : absl::StrCat(node.word, "(", absl::StrJoin(children, ", "), ")"));
    }
    Recorded graph(absl::StrJoin(rules, "\n"), terms, 2);
    Explainer& explainer = graph.explainer();
    for (const ClassId id : graph.graph().classes()) {
      const TermId from = explainer.TermOf(graph.graph().nodes(id).front());
      for (const ENodeId node : graph.graph().nodes(id)) {
        const TermId to = explainer.TermOf(node);
        ASSERT_TRUE(explainer.Equal(from, to));
        ASSERT_TRUE(Proves(explainer.terms(), explainer.Explain(from, to), from, to));
        const auto chain = explainer.Chain(from, to, 1000);
        if (!chain.has_value()) continue;
        TermId at = from;
        for (const ChainLink& link : *chain) {
          ASSERT_TRUE(IsOneRewrite(explainer.terms(), at, link.whole, link.step));
          at = link.whole;
        }
        ASSERT_EQ(at, to);
        ++explained;
      }
    }
  }
  EXPECT_GT(explained, 1000);
}

}  // namespace
}  // namespace quotient::egraph
