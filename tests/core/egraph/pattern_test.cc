#include "core/egraph/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/egraph/compile_rule.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AllMatches : public MatchSink {
 public:
  explicit AllMatches(size_t limit = 1'000'000) : limit_(limit) {}
  bool Add(Match match) override {
    matches.push_back(std::move(match));
    return matches.size() < limit_;
  }
  std::vector<Match> matches;

 private:
  const size_t limit_;
};

class PatternTest : public ::testing::Test {
 protected:
  ClassId Add(absl::string_view term) {
    absl::StatusOr<ClassId> id = AddTerm(graph_, term, vocabulary_);
    EXPECT_TRUE(id.ok()) << id.status();
    return *id;
  }
  void Equate(absl::string_view a, absl::string_view b) {
    ASSERT_TRUE(graph_.Union(Add(a), Add(b)).ok());
  }
  std::vector<Match> Search(absl::string_view rule) {
    EXPECT_TRUE(graph_.Rebuild().ok());
    AllMatches sink;
    Compile(rule)->Search(graph_, sink);
    return sink.matches;
  }
  // Applies all matches of one search; how many changed the graph.
  int Rewrite(absl::string_view text) {
    const std::unique_ptr<Rule> rule = Compile(text);
    int changed = 0;
    for (const Match& match : Search(text)) changed += *rule->Apply(graph_, match, 1);
    EXPECT_TRUE(graph_.Rebuild().ok());
    return changed;
  }
  bool Equal(absl::string_view a, absl::string_view b) {
    return graph_.Find(Add(a)) == graph_.Find(Add(b));
  }
  std::unique_ptr<Rule> Compile(absl::string_view text) {
    absl::StatusOr<std::unique_ptr<Rule>> rule = testing::CompileRule(text, vocabulary_);
    EXPECT_TRUE(rule.ok()) << rule.status();
    return *std::move(rule);
  }
  std::string Error(absl::string_view text) {
    return std::string(testing::CompileRule(text, vocabulary_).status().message());
  }

  testing::SymbolTable table_;
  EGraph graph_{&table_, nullptr};
  Vocabulary vocabulary_ = testing::SymbolVocabulary(table_);
};

TEST_F(PatternTest, MatchesModuloEquality) {
  Add("(f (g a b))");
  Equate("(g a b)", "c");
  EXPECT_EQ(Search("(f (g ?x ?y)) => ?x").size(), 1u);
  EXPECT_EQ(Search("(f c) => c").size(), 1u);
  EXPECT_EQ(Search("(f a) => a").size(), 0u);
  EXPECT_EQ(Search("(f missing) => a").size(), 0u);
}

TEST_F(PatternTest, OneVariableIsOneClass) {
  Add("(g a b)");
  EXPECT_EQ(Search("(g ?x ?x) => ?x").size(), 0u);
  Equate("a", "b");
  EXPECT_EQ(Search("(g ?x ?x) => ?x").size(), 1u);
}

TEST_F(PatternTest, AVariableAloneMatchesEveryClass) {
  Add("(g a b)");
  EXPECT_EQ(Search("?x => (f ?x)").size(), 3u);
}

TEST_F(PatternTest, OperatorVariablesBindTheWholeWord) {
  Add("(p[1] (p[2] a))");
  Add("(p[3] (p[3] a))");
  EXPECT_EQ(Search("p(?x) => ?x").size(), 4u);
  EXPECT_EQ(Search("p[?o](p[?o](?x)) => ?x").size(), 1u);
  EXPECT_EQ(Search("p[2](?x) => ?x").size(), 1u);
  Rewrite("p[?a](p[?b](?x)) => p[?b](p[?a](?x))");
  EXPECT_TRUE(Equal("(p[1] (p[2] a))", "(p[2] (p[1] a))"));
}

TEST_F(PatternTest, ListsBindTheRestAndRepeatOnTheRight) {
  Add("(f (k a b c))");
  Rewrite("f(k(?x, ?rest...)) => k(f(?x), f(?rest)..., ?rest...)");
  EXPECT_TRUE(Equal("(f (k a b c))", "(k (f a) (f b) (f c) b c)"));
  Add("(f (k d))");
  Rewrite("f(k(?xs...)) => k(f(?xs)...)");
  EXPECT_TRUE(Equal("(f (k d))", "(k (f d))"));
  EXPECT_TRUE(Equal("(f (k a b c))", "(k (f a) (f b) (f c))"));
}

TEST_F(PatternTest, ListsOfUnequalLengthDoNotApply) {
  Add("(g (k a b) (k c))");
  Add("(g (k a b) (k c d))");
  EXPECT_EQ(Rewrite("g(k(?xs...), k(?ys...)) => k(g(?xs, ?ys)...)"), 1);
  EXPECT_TRUE(Equal("(g (k a b) (k c d))", "(k (g a c) (g b d))"));
}

TEST_F(PatternTest, SeveralRootsAreJoinedOnWhatTheyShare) {
  Add("(m x a)");
  Add("(m x b)");
  Add("(m y b)");
  const std::string rule =
      "(m ?x ?a), (m ?x ?b) => (left (m ?x (j ?a ?b))), (right (m ?x (j ?a ?b)))";
  EXPECT_EQ(Search(rule).size(), 5u);  // 2 * 2 on x, 1 on y
  EXPECT_EQ(Search(rule + " if before(?a, ?b)").size(), 1u);
  EXPECT_EQ(Rewrite(rule + " if before(?a, ?b)"), 1);
  EXPECT_TRUE(Equal("(m x a)", "(left (m x (j a b)))"));
  EXPECT_TRUE(Equal("(m x b)", "(right (m x (j a b)))"));
}

TEST_F(PatternTest, RootsMayHangTogetherDeepInside) {
  Add("(f (g a b))");
  Add("(f (h a c))");
  Add("(f (h b c))");
  const std::vector<Match> matches = Search("(f (g ?x ?y)), (f (h ?x ?z)) => ?y, ?z");
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].classes[0], graph_.Find(Add("(f (g a b))")));
  EXPECT_EQ(matches[0].classes[1], graph_.Find(Add("(f (h a c))")));
}

// With n users of one class and n of another, a product of roots would try (2n)^2 pairs.
TEST_F(PatternTest, JoinsVisitOnlyPairsThatShare) {
  int tried = 0;
  vocabulary_.guards["count"] = {"cc", [&tried](const EGraph&, std::span<const Binding>) {
                                   ++tried;
                                   return false;
                                 }};
  for (int i = 0; i < 100; ++i) {
    const std::string x = absl::StrCat("x", i);
    Add(absl::StrCat("(g ", x, " a", i, ")"));
    Add(absl::StrCat("(h ", x, " b", i, ")"));
  }
  EXPECT_EQ(Search("(g ?x ?a), (h ?x ?b) => ?a, ?b if count(?a, ?b)").size(), 0u);
  EXPECT_EQ(tried, 100);
}

TEST_F(PatternTest, EquatedTermsAreOneClass) {
  Add("(& p q)");
  Add("(& p r)");
  Equate("(& p q)", "true");
  EXPECT_EQ(Search("true = (& ?a ?b) => ?a").size(), 1u);
  EXPECT_EQ(Rewrite("?t = (& ?a ?b) => (both ?t ?a)"), 2);
  EXPECT_TRUE(Equal("true", "(both true p)"));
}

TEST_F(PatternTest, LetNamesATermUsedTwice) {
  Add("(f a)");
  const uint32_t before = graph_.enode_bound();
  Rewrite("f(?x) => g(?m, ?m) let ?m = h(?x, ?x), ?unused = ?m");
  EXPECT_TRUE(Equal("(f a)", "(g (h a a) (h a a))"));
  EXPECT_EQ(graph_.enode_bound(), before + 2);
}

TEST_F(PatternTest, GuardsRunAsSoonAsTheirVariablesAreBound) {
  int asked = 0;
  vocabulary_.guards["never"] = {"c", [&asked](const EGraph&, std::span<const Binding>) {
                                   ++asked;
                                   return false;
                                 }};
  for (int i = 0; i < 10; ++i) Equate("c", absl::StrCat("(f x", i, ")"));
  Add("(g a c)");
  EXPECT_EQ(Search("(g ?a (f ?b)) => ?b if never(?a)").size(), 0u);
  EXPECT_EQ(asked, 1);
}

TEST_F(PatternTest, BuildersGetTheirArguments) {
  vocabulary_.guards["is"] = {"ot", [this](const EGraph&, std::span<const Binding> arguments) {
                                return table_.Name(arguments[0].op) ==
                                       absl::StrCat("p[", std::string(arguments[1].text), "]");
                              }};
  vocabulary_.op_builders["next"] = {
      "ol",
      [this](const EGraph&,
             std::span<const Binding> arguments) -> absl::StatusOr<std::optional<OpId>> {
        if (arguments[1].list.size() > 2) return std::nullopt;
        return table_.Op(
            absl::StrCat("q[", table_.Name(arguments[0].op) == "p[1]" ? "2" : "?", "]"));
      }};
  vocabulary_.term_builders["twice"] = {
      "c",
      [this](EGraph& graph, std::span<const Binding> arguments,
             Origin origin) -> absl::StatusOr<std::optional<ClassId>> {
        return *graph.Add(table_.Op("g"), std::vector<ClassId>{arguments[0].id, arguments[0].id},
                          origin);
      }};
  Add("(p[1] (k a b))");
  Add("(p[2] (k a b))");
  Add("(p[1] (k a b c))");
  const absl::string_view rule =
      "p[?o](k(?x, ?l...)) => q[next(?o, ?l)](twice((f ?x)), twice(?l)...) if is(?o, 1)";
  EXPECT_EQ(Search(rule).size(), 2u);
  EXPECT_EQ(Rewrite(rule), 2);
  EXPECT_TRUE(Equal("(p[1] (k a b))", "(q[2] (g (f a) (f a)) (g b b))"));
}

TEST_F(PatternTest, ABuilderThatDeclinesLeavesTheClassesAlone) {
  vocabulary_.term_builders["no"] = {
      "", [](EGraph&, std::span<const Binding>, Origin) -> absl::StatusOr<std::optional<ClassId>> {
        return std::nullopt;
      }};
  vocabulary_.term_builders["ill"] = {
      "", [](EGraph&, std::span<const Binding>, Origin) -> absl::StatusOr<std::optional<ClassId>> {
        return absl::InvalidArgumentError("ill-typed");
      }};
  vocabulary_.term_builders["broken"] = {
      "", [](EGraph&, std::span<const Binding>, Origin) -> absl::StatusOr<std::optional<ClassId>> {
        return absl::InternalError("broken");
      }};
  Add("(g a b)");
  EXPECT_EQ(Rewrite("g(?x, ?y) => f(no())"), 0);
  EXPECT_EQ(Rewrite("g(?x, ?y) => f(ill())"), 0);
  EXPECT_EQ(graph_.num_classes(), 3) << "nothing was united";
  const std::vector<Match> matches = Search("g(?x, ?y) => broken()");
  EXPECT_EQ(Compile("g(?x, ?y) => broken()")->Apply(graph_, matches[0], 1).status().code(),
            absl::StatusCode::kInternal);
}

TEST_F(PatternTest, SearchEndsWhenTheSinkHasEnough) {
  for (int i = 0; i < 10; ++i) Add(absl::StrCat("(f x", i, ")"));
  ASSERT_TRUE(graph_.Rebuild().ok());
  AllMatches sink(3);
  Compile("(f ?x) => ?x")->Search(graph_, sink);
  EXPECT_EQ(sink.matches.size(), 3u);
}

TEST_F(PatternTest, ApplyWorksOnMatchesWhoseClassesMergedMeanwhile) {
  Add("(f a)");
  Add("(f b)");
  const std::vector<Match> matches = Search("f(?x) => h(?x)");
  ASSERT_EQ(matches.size(), 2u);
  const std::unique_ptr<Rule> rule = Compile("f(?x) => h(?x)");
  ASSERT_TRUE(graph_.Union(Add("a"), Add("b")).ok());
  EXPECT_TRUE(*rule->Apply(graph_, matches[0], 1));
  EXPECT_TRUE(*rule->Apply(graph_, matches[1], 1));  // unites, adds nothing
  ASSERT_TRUE(graph_.Rebuild().ok());
  EXPECT_FALSE(*rule->Apply(graph_, matches[1], 1));
  EXPECT_TRUE(Equal("(f a)", "(h b)"));
}

TEST_F(PatternTest, RulesThatMakeNoSenseAreRefused) {
  vocabulary_.guards["one"] = {"c", nullptr};
  vocabulary_.op_builders["op"] = {"o", nullptr};
  const std::pair<const char*, const char*> cases[] = {
      {"n: f(?x) => ?y", "rule n: ?y is not bound"},
      {"n: f(?x) => p[?o](?x)", "rule n: ?o is not bound"},
      {"n: f(?x) => ?x, ?x", "rule n: 1 left sides, but 2 right sides"},
      {"n: f(?x), f(?y) => ?x, ?y", "shares no class variable"},
      {"n: f(?x), ?y => ?x, ?y", "shares no class variable"},
      {"n: p[?x](?x) => ?x", "?x is used as two of"},
      {"n: k(?x, ?x...) => ?x", "?x is used as two of"},
      {"n: k(f(?x)...) => ?x", "only a new variable can be a list"},
      {"n: k(?l..., ?x) => ?x", "must come last"},
      {"n: k(?l...) => ?l", "?l is used as two of"},
      {"n: k(?l...) => ?l...", "a right side cannot be a list"},
      {"n: ?l... => a", "a left side cannot be a list"},
      {"n: f(?x) => k(f(?x)...)", "without a list"},
      {"n: p[f(?x)](?x) => ?x", "on the right only"},
      {"n: f(?x) => p[f(?x)](?x)", "unknown operator builder f"},
      {"n: f(?x) => p[op(?x)](?x)", "op: argument 1 is not an operator variable"},
      {"n: f(?x) => ?x if what(?x)", "unknown guard what"},
      {"n: f(?x) => ?x if one(?x, ?x)", "guard one: wants 1 arguments, not 2"},
      {"n: f(?x) => ?x if one(1)", "guard one: argument 1 is not a class"},
      {"n: f(?x) => ?x if one(?y)", "guard one: argument 1 is not a class"},
      {"n: f(?x) => ?x let ?x = a", "?x is bound already"},
      {"n: f(?x => ?x", "rule n: expected"},
  };
  for (const auto& [text, error] : cases) EXPECT_THAT(Error(text), HasSubstr(error)) << text;
}

TEST_F(PatternTest, AFileOfRules) {
  const auto rules = CompileRules(
      "# about the file\n"
      "\n"
      "one: f(?x) => ?x\n"
      "# two of the same\n"
      "two: g(?x,\n"
      "       ?x) => ?x\n"
      "  if not distinct(?x, ?x)\n"
      "h(?x, ?y) => ?y\n",
      vocabulary_);
  ASSERT_TRUE(rules.ok()) << rules.status();
  std::vector<std::string> lines;
  for (const auto& rule : *rules)
    lines.push_back(absl::StrCat(rule->name(), " | ", rule->equation()));
  EXPECT_THAT(
      lines, ElementsAre("one | f(?x) => ?x", "two | two of the same", "rule-3 | h(?x, ?y) => ?y"));
}

TEST_F(PatternTest, ErrorsInAFileNameItAndTheLine) {
  const auto error = [this](absl::string_view text) {
    return std::string(CompileRules(text, vocabulary_, "my.txt").status().message());
  };
  EXPECT_EQ(error("# two lines\n\none: f(?x)\n  => ?x\n\ntwo: f(?x) => ?y\n"),
            "my.txt:6: rule two: ?y is not bound");
  EXPECT_EQ(error("f(?x)\n  => ?y"), "my.txt:1: rule rule-1: ?y is not bound");
}

TEST_F(PatternTest, ErrorsAreShortAndPrintable) {
  const std::string binary = Error(std::string("\x01\xff(\0", 4));
  EXPECT_THAT(binary, HasSubstr("rule \\x01\\xff(\\x00: expected"));
  EXPECT_LT(Error(std::string(100'000, 'f')).size(), 400u);
  EXPECT_LT(Error(absl::StrCat("n: f(?x) => ?", std::string(100'000, 'y'))).size(), 400u);
}

TEST_F(PatternTest, TermsWithVariablesCannotBeAdded) {
  EXPECT_FALSE(AddTerm(graph_, "(f ?x)", vocabulary_).ok());
  EXPECT_FALSE(AddTerm(graph_, "f(a...)", vocabulary_).ok());
  EXPECT_FALSE(AddTerm(graph_, "p[?o](a)", vocabulary_).ok());
}

}  // namespace
}  // namespace quotient::egraph
