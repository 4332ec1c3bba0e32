// What a matcher finds, counted: each match once, however the search is cut into pieces, and as
// many as searching each rule from scratch.

#include "core/egraph/matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/egraph/pattern.h"
#include "tests/support/egraph/apply_all.h"
#include "tests/support/egraph/rewriting_data.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::UnorderedElementsAre;

class CountMatches : public MatchSink {
 public:
  bool Add(Match /*match*/) override {
    ++count;
    return true;
  }
  size_t count = 0;
};

class MatcherTest : public ::testing::Test {
 protected:
  // Guards first: they are part of what rule text may say.
  void Use(absl::string_view rules) {
    auto compiled = CompileRules(rules, vocabulary_);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    rules_ = *std::move(compiled);
    for (const auto& rule : rules_) pointers_.push_back(rule.get());
  }

  ClassId Term(absl::string_view text) { return *AddTerm(graph_, text, vocabulary_); }

  void Step(Matcher& matcher) {
    matcher.Search(graph_);
    ASSERT_TRUE(testing::ApplyAll(matcher, rules_.size(), graph_).ok());
    ASSERT_TRUE(graph_.Rebuild().ok());
  }

  // The math workload after some steps.
  void Grow(int steps) {
    Use(testing::ReadRewritingFile("math/rules.txt"));
    for (const std::string& line : testing::ReadRewritingLines("math/expressions.txt")) Term(line);
    ASSERT_TRUE(graph_.Rebuild().ok());
    Matcher matcher(table_, pointers_);
    for (int i = 0; i < steps; ++i) Step(matcher);
  }

  std::vector<size_t> Waiting(const Matcher& matcher) const {
    std::vector<size_t> waiting;
    for (size_t i = 0; i < rules_.size(); ++i) waiting.push_back(matcher.num_waiting(i));
    return waiting;
  }
  std::vector<size_t> FromScratch() const {
    std::vector<size_t> found;
    for (const auto& rule : rules_) {
      CountMatches sink;
      rule->Search(graph_, sink);
      found.push_back(sink.count);
    }
    return found;
  }

  testing::SymbolTable table_;
  Vocabulary vocabulary_ = testing::SymbolVocabulary(table_);
  EGraph graph_{&table_, nullptr};
  std::vector<std::unique_ptr<Rule>> rules_;
  std::vector<const Rule*> pointers_;
};

// Also where the changes have been acknowledged: by another matcher, which has its own queues.
TEST_F(MatcherTest, ANewOneFindsAllThatThereIs) {
  Grow(7);
  Matcher matcher(table_, pointers_);
  matcher.Search(graph_);
  EXPECT_EQ(Waiting(matcher), FromScratch());
  matcher.Search(graph_);
  EXPECT_EQ(Waiting(matcher), FromScratch()) << "nothing changed";
}

TEST_F(MatcherTest, SearchesByAndByFindEachMatchOnce) {
  Grow(7);
  Matcher matcher(table_, pointers_);
  Matcher::Bounds bounds;
  int searches = 0;
  for (size_t waiting = 1; waiting < 5'000; waiting += 1 + waiting / 3, ++searches) {
    bounds.waiting.assign(rules_.size(), waiting);
    matcher.Search(graph_, bounds);
  }
  EXPECT_GT(searches, 20);
  EXPECT_EQ(Waiting(matcher), FromScratch());
}

TEST_F(MatcherTest, SearchesThatAreStoppedFindEachMatchOnce) {
  Grow(8);
  const std::vector<size_t> expected = FromScratch();
  Matcher matcher(table_, pointers_);
  int asked = 0, stops = 0;
  Matcher::Bounds bounds;
  bounds.may_go_on = [&] {
    const bool stop = ++asked % 3 == 0;
    stops += stop;
    return !stop;
  };
  for (int i = 0; i < 1'000 && Waiting(matcher) != expected; ++i) matcher.Search(graph_, bounds);
  EXPECT_GT(stops, 3);
  EXPECT_EQ(Waiting(matcher), expected);
  matcher.Search(graph_);
  EXPECT_EQ(Waiting(matcher), expected);
}

// Two orders of one rule may begin alike and have the guard's variable in other places.
TEST_F(MatcherTest, GuardsLookAtTheirOwnVariables) {
  vocabulary_.guards["is_x"] = {"c",
                                [this](const EGraph& graph, std::span<const Binding> arguments) {
                                  return graph.Lookup(table_.Op("x"), {}) ==
                                         graph.Find(arguments[0].id);
                                },
                                Guard::Otherwise::kNothing};
  Use("found: (+ (* ?a ?b) (* ?c ?a)) => (found ?a) if is_x(?a)");
  Term("(+ (* x y) z)");
  Term("(+ (* y x) w)");
  ASSERT_TRUE(graph_.Rebuild().ok());
  Matcher matcher(table_, pointers_);
  ASSERT_TRUE(matcher.takes(0));
  Step(matcher);
  // Now z = (* v x) and w = (* x y): the former makes a match, the latter one of which a is y.
  ASSERT_TRUE(graph_.Union(Term("z"), Term("(* v x)")).ok());
  ASSERT_TRUE(graph_.Union(Term("w"), Term("(* x y)")).ok());
  ASSERT_TRUE(graph_.Rebuild().ok());
  matcher.Search(graph_);
  EXPECT_EQ(Waiting(matcher), FromScratch());
  EXPECT_THAT(Waiting(matcher), Each(Eq(1)));
}

// Rules that ask the same of the same terms ask once; others ask for themselves.
TEST_F(MatcherTest, SharesGuardsOfRulesThatBeginAlike) {
  std::vector<std::string> asked;
  vocabulary_.guards["is"] = {
      "ct",
      [this, &asked](const EGraph& graph, std::span<const Binding> arguments) {
        asked.emplace_back(arguments[1].text);
        return graph.Lookup(table_.Op(asked.back()), {}) == graph.Find(arguments[0].id);
      },
      Guard::Otherwise::kNothing};
  Use("f(?x) => (one ?x) if is(?x, a)\n"
      "f(?x) => (two ?x) if is(?x, a)\n"
      "f(?x) => (three ?x) if not is(?x, a)\n"
      "f(?x) => (four ?x) if is(?x, b)\n");
  Term("f(a)");
  ASSERT_TRUE(graph_.Rebuild().ok());
  Matcher matcher(table_, pointers_);
  matcher.Search(graph_);
  EXPECT_THAT(Waiting(matcher), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(asked, UnorderedElementsAre("a", "a", "b"));
}

// A rule is matched incrementally if nothing but a change of an argument makes a guard pass.
TEST_F(MatcherTest, TakesRulesWhoseGuardsPassByChangesAlone) {
  using Otherwise = Guard::Otherwise;
  for (const auto& [name, otherwise] :
       {std::pair("fixed", Otherwise::kNothing), std::pair("falls", Otherwise::kFalls),
        std::pair("rises", Otherwise::kRises), std::pair("any", Otherwise::kAnything)}) {
    vocabulary_.guards[name] = {"c", [](const EGraph&, std::span<const Binding>) { return true; },
                                otherwise};
  }
  Use("f(?x) => ?x if fixed(?x)\n"
      "f(?x) => ?x if not fixed(?x)\n"
      "f(?x) => ?x if falls(?x)\n"
      "f(?x) => ?x if not falls(?x)\n"
      "f(?x) => ?x if rises(?x)\n"
      "f(?x) => ?x if not rises(?x)\n"
      "f(?x) => ?x if any(?x)\n");
  const Matcher matcher(table_, pointers_);
  std::vector<bool> taken;
  for (size_t i = 0; i < rules_.size(); ++i) taken.push_back(matcher.takes(i));
  EXPECT_THAT(taken, ElementsAre(true, true, true, false, false, true, false));
}

// Two patterns that are one rule, which counts how often each is applied.
class TwoPatterns : public Rule {
 public:
  TwoPatterns(const Rule& first, const Rule& second) : parts_{&first, &second} {}
  const std::string& name() const override { return parts_[0]->name(); }
  const std::string& equation() const override { return parts_[0]->equation(); }
  std::vector<const Program*> programs() const override {
    return {parts_[0]->program(), parts_[1]->program()};
  }
  void Search(const EGraph& graph, MatchSink& sink) const override {
    for (const Rule* part : parts_) part->Search(graph, sink);
  }
  absl::StatusOr<bool> Apply(EGraph& graph, const Match& match, Origin origin) const override {
    ++applied[match.alternative];
    return parts_[match.alternative]->Apply(graph, match, origin);
  }
  mutable int applied[2] = {0, 0};

 private:
  const Rule* const parts_[2];
};

TEST_F(MatcherTest, ARuleOfSeveralPatternsHasTheMatchesOfAll) {
  Use("k(?xs...) => k2(?xs...)\nf(g(?x, ?y)) => g(?y, ?x)");
  const TwoPatterns both(*rules_[0], *rules_[1]);
  const Rule* const pointers[] = {&both};
  Matcher matcher(table_, pointers);
  ASSERT_TRUE(matcher.takes(0));
  Term("k(a, b, c)");
  Term("f(g(a, b))");
  Term("f(g(b, c))");
  ASSERT_TRUE(graph_.Rebuild().ok());
  matcher.Search(graph_);
  EXPECT_EQ(matcher.num_waiting(0), 3u);
  // The last waiting match is one of the second pattern.
  ASSERT_TRUE(*matcher.ApplyWaiting(graph_, 0, 2));
  EXPECT_EQ(both.applied[1], 1);
  ASSERT_TRUE(matcher.ApplyNext(graph_, 0, 2).ok());
  EXPECT_EQ(both.applied[0], 1);
  EXPECT_EQ(both.applied[1], 2);
  EXPECT_EQ(matcher.num_waiting(0), 1u);
  ASSERT_TRUE(graph_.Rebuild().ok());
  EXPECT_EQ(graph_.Find(Term("k(a, b, c)")), graph_.Find(Term("k2(a, b, c)")));
  EXPECT_EQ(graph_.Find(Term("f(g(a, b))")), graph_.Find(Term("g(b, a)")));
}

}  // namespace
}  // namespace quotient::egraph
