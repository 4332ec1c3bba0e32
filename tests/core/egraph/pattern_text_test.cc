#include "core/egraph/pattern_text.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace quotient::egraph {
namespace {

// One canonical spelling of what was understood.
std::string Print(const Term& term) {
  const auto list = [](const std::vector<Term>& terms) {
    return absl::StrJoin(
        terms, ",", [](std::string* out, const Term& each) { absl::StrAppend(out, Print(each)); });
  };
  std::string out;
  if (term.sort == Term::Sort::kVariable) out = absl::StrCat("?", term.name);
  if (term.sort == Term::Sort::kWord) out = term.name;
  if (term.sort == Term::Sort::kApply) {
    std::string brackets;
    if (term.brackets == Term::Brackets::kVariable)
      brackets = absl::StrCat("[?", term.attributes, "]");
    if (term.brackets == Term::Brackets::kText) brackets = absl::StrCat("[", term.attributes, "]");
    if (term.brackets == Term::Brackets::kCall) {
      brackets = absl::StrCat("[", term.attributes, "(", list(term.arguments), ")]");
    }
    out = absl::StrCat(term.name, brackets, "(", list(term.children), ")");
  }
  return term.repeated ? absl::StrCat(out, "...") : out;
}

std::string PrintTerm(absl::string_view text) {
  const absl::StatusOr<Term> term = ParseTerm(text);
  return term.ok() ? Print(*term) : std::string(term.status().message());
}

TEST(PatternText, BothFormsMeanTheSame) {
  EXPECT_EQ(PrintTerm("(+ ?a (* ?b 1))"), "+(?a,*(?b,1))");
  EXPECT_EQ(PrintTerm("+(?a, *(?b, 1))"), "+(?a,*(?b,1))");
  EXPECT_EQ(PrintTerm("Add(?a, (Mul ?b -1))"), "Add(?a,Mul(?b,-1))");
  EXPECT_EQ(PrintTerm(" x "), "x");
  EXPECT_EQ(PrintTerm("Zero()"), "Zero()");
  EXPECT_EQ(PrintTerm("(Zero)"), "Zero()");
}

TEST(PatternText, ABlankBeforeTheParenthesisSeparates) {
  EXPECT_EQ(PrintTerm("(g a (f b))"), "g(a,f(b))");
  EXPECT_EQ(PrintTerm("(g a f(b))"), "g(a,f(b))");
}

TEST(PatternText, Brackets) {
  EXPECT_EQ(PrintTerm("Conv[?c](?x, ?w)"), "Conv[?c](?x,?w)");
  EXPECT_EQ(PrintTerm("(Conv[?c] ?x)"), "Conv[?c](?x)");
  EXPECT_EQ(PrintTerm("T[perm=[1, 0]](?x)"), "T[perm=[1, 0]](?x)");
  EXPECT_EQ(PrintTerm("T[ axis=1 ]"), "T[axis=1]()");
  EXPECT_EQ(PrintTerm("T[compose(?p, ?q)](?x)"), "T[compose(?p,?q)](?x)");
}

TEST(PatternText, Repetition) {
  EXPECT_EQ(PrintTerm("Concat[?c](?x, ?xs...)"), "Concat[?c](?x,?xs...)");
  EXPECT_EQ(PrintTerm("Concat(Relu(?xs)...)"), "Concat(Relu(?xs)...)");
  EXPECT_EQ(PrintTerm("(k (f ?xs)... ?y)"), "k(f(?xs)...,?y)");
}

TEST(PatternText, ErrorsNameThePlace) {
  EXPECT_EQ(PrintTerm(""), "expected a term at character 1");
  EXPECT_EQ(PrintTerm("f(?x"), "expected ')' at character 5");
  EXPECT_EQ(PrintTerm("(f ?x"), "expected a term at character 6");
  EXPECT_EQ(PrintTerm("f(?x) y"), "unexpected text at character 7");
  EXPECT_EQ(PrintTerm("f[a"), "expected ']' at character 4");
  EXPECT_EQ(PrintTerm("(?x ?y)"), "expected an operator at character 4");
  EXPECT_EQ(PrintTerm("?"), "expected an operator at character 2");
}

TEST(PatternText, DeepNestingIsAnErrorNotACrash) {
  EXPECT_FALSE(ParseTerm(std::string(100'000, '(')).ok());
  EXPECT_FALSE(ParseTerm("f" + std::string(100'000, '[')).ok());
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "f(";
  EXPECT_EQ(PrintTerm(deep), "nested too deeply at character 401");
}

TEST(PatternText, Rule) {
  const absl::StatusOr<RuleText> rule = ParseRuleText(
      "merge: M(?x, ?a), ?m = M(?x, ?b) => f(?y), g(?y) let ?y = M(?x, j(?a, ?b)), ?z = ?y"
      " if p(?a) and not q(?b, 1), r()");
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_EQ(rule->name, "merge");
  ASSERT_EQ(rule->left.size(), 2u);
  EXPECT_EQ(Print(rule->left[0][0]), "M(?x,?a)");
  ASSERT_EQ(rule->left[1].size(), 2u);
  EXPECT_EQ(Print(rule->left[1][0]), "?m");
  ASSERT_EQ(rule->right.size(), 2u);
  ASSERT_EQ(rule->lets.size(), 2u);
  EXPECT_EQ(rule->lets[0].variable, "y");
  EXPECT_EQ(Print(rule->lets[0].term), "M(?x,j(?a,?b))");
  ASSERT_EQ(rule->guards.size(), 3u);
  EXPECT_FALSE(rule->guards[0].negated);
  EXPECT_TRUE(rule->guards[1].negated);
  EXPECT_EQ(rule->guards[1].arguments.size(), 2u);
  EXPECT_TRUE(rule->guards[2].arguments.empty());
}

TEST(PatternText, RulesMayHaveNoName) {
  EXPECT_EQ(ParseRuleText("f(?x) => ?x")->name, "");
  EXPECT_EQ(ParseRuleText("T[a:b](?x) => ?x")->name, "");
  EXPECT_EQ(ParseRuleText("a-b : (f ?x) => ?x")->name, "a-b");
  EXPECT_EQ(ParseRuleText("n: f(?x) => ?x")->equation, "f(?x) => ?x");
}

TEST(PatternText, BadRules) {
  for (const absl::string_view text :
       {"", ":", "f(?x)", "f(?x) =>", "=> f(?x)", "f(?x) => ?x if", "f(?x) => ?x if p",
        "f(?x) => ?x if p(?x) and", "f(?x) => ?x let ?y", "f(?x) => ?x let y = ?x",
        "f(?x) => ?x ?x", "f(?x), => ?x", ": f(?x) => ?x", "f(?x) => ?x if p[?c](?x)"}) {
    EXPECT_EQ(ParseRuleText(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace quotient::egraph
