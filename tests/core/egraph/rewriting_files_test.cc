// Files of rules and expressions: both forms of variables mean the same, and errors say where.

#include "tests/support/egraph/rewriting_files.h"

#include <gtest/gtest.h>

#include <string>

namespace quotient::testing {
namespace {

std::string RulesError(absl::string_view text, std::optional<Arities> known = {}) {
  OperatorCheck operators(std::move(known));
  return std::string(CheckedRules(text, "r.txt", operators).status().message());
}

std::string ExpressionsError(absl::string_view text, std::optional<Arities> known = {}) {
  OperatorCheck operators(std::move(known));
  return std::string(CheckedExpressions(text, "e.txt", operators).status().message());
}

TEST(RewritingFiles, BareVariablesAreMarked) {
  EXPECT_EQ(WithMarkedVariables("# a, b are bare?\n"
                                "comm-add  : (+ a b) => (+ b a)\n"
                                "mul-one: a => (* a 1)\n"
                                "(i (pow x c) x) => (/ (pow x (+ c 1)) (+ c -1)) if const(c)\n"
                                "or: (| (~ a) true) => false if nz(a), not sym(b) and sym(c)\n"
                                "f(g(a), K) = h[a b](c,\n"
                                "  (f\n"
                                "  (g xs...) n1)) => m let m = (\n"
                                "g a)"),
            "# a, b are bare?\n"
            "comm-add  : (+ ?a ?b) => (+ ?b ?a)\n"
            "mul-one: ?a => (* ?a 1)\n"
            "(i (pow ?x ?c) ?x) => (/ (pow ?x (+ ?c 1)) (+ ?c -1)) if const(?c)\n"
            "or: (| (~ ?a) true) => false if nz(?a), not sym(?b) and sym(?c)\n"
            "f(g(?a), K) = h[a b](?c,\n"
            "  (f\n"
            "  (g ?xs...) ?n1)) => ?m let ?m = (\n"
            "g ?a)");
}

TEST(RewritingFiles, OneQuestionMarkAndNothingIsBare) {
  const std::string rules = "(f a) => a\n(f ?a) => ?a\n";
  EXPECT_EQ(WithMarkedVariables(rules), rules);
}

TEST(RewritingFiles, BothFormsOfARuleFileAreTheSame) {
  for (const std::string name : {"math", "prop"}) {
    const auto marked = ReadTextFile("tests/data/rewriting/geb/" + name + "-rules.txt");
    ASSERT_TRUE(marked.ok()) << marked.status();
    std::string bare = *marked;
    std::erase(bare, '?');
    ASSERT_NE(bare, *marked);
    EXPECT_EQ(WithMarkedVariables(bare), *marked);
  }
}

TEST(RewritingFiles, ErrorsOfRulesNameThePlace) {
  const Arities known = {{"+", 2}, {"sin", 1}};
  EXPECT_EQ(RulesError("\n# c\n(+ ?a ?b) => (+ ?b ?a)\n(sin ?a => ?a\n", known),
            "r.txt:4: expected a term at character 11");
  EXPECT_EQ(RulesError("one: (sin a => a\n", known), "r.txt:1: expected a term at character 15");
  EXPECT_EQ(RulesError("(+ ?a ?b) =>\n  (% ?b ?a)", known), "r.txt:1: unknown operator %");
  EXPECT_EQ(RulesError("(+ ?a ?b ?c) => ?a", known),
            "r.txt:1: operator + wants 2 arguments, not 3");
  EXPECT_EQ(RulesError("(+ ?l...) => 0", known),
            "r.txt:1: operator + wants 2 arguments, not a list");
  EXPECT_EQ(RulesError("(+ sin ?a) => ?a", known),
            "r.txt:1: operator sin wants 1 arguments, not 0");
  EXPECT_EQ(RulesError("# nothing\n"), "r.txt: no rules");
}

TEST(RewritingFiles, OperatorsThatNobodyToldHaveOneArity) {
  EXPECT_EQ(RulesError("(f ?a) => (g ?a ?a)\n(g ?x ?y) => (f ?x)\n(k ?l...) => (g k ?l...)"), "");
  EXPECT_EQ(RulesError("(f ?a) => ?a\n(f ?a ?b) => ?a"),
            "r.txt:2: operator f wants 1 arguments, not 2");
}

TEST(RewritingFiles, ExpressionsAreLinesThatAreNoComments) {
  OperatorCheck operators(std::nullopt);
  const auto expressions =
      CheckedExpressions("# two\n\n(f x)\n  # indented\n x \r\n", "e", operators);
  ASSERT_TRUE(expressions.ok()) << expressions.status();
  ASSERT_EQ(expressions->size(), 2u);
  EXPECT_EQ((*expressions)[0].text, "(f x)");
  EXPECT_EQ((*expressions)[1].text, "x");
  EXPECT_EQ((*expressions)[1].place, "e:5");
  EXPECT_EQ(ExpressionsError("# none\n"), "e.txt: no expressions");
  EXPECT_EQ(ExpressionsError("(f a)\n(f (g ?x))\n"), "e.txt:2: ?x: only rules have variables");
  EXPECT_EQ(ExpressionsError("x\n\n(f x\n"), "e.txt:3: expected a term at character 5");
  EXPECT_EQ(ExpressionsError("(f x)\n(f x y)"), "e.txt:2: operator f wants 1 arguments, not 2");
  EXPECT_EQ(ExpressionsError("(log x)", Arities{{"ln", 1}}), "e.txt:1: unknown operator log");
}

TEST(RewritingFiles, WhatCannotBeReadIsNamed) {
  EXPECT_EQ(ReadTextFile("tests").status().message(), "tests: is a directory");
  EXPECT_EQ(ReadTextFile("no/such").status().message(), "no/such: cannot be read");
}

}  // namespace
}  // namespace quotient::testing
