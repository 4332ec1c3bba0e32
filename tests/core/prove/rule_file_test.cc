// Files of rules, and what is no rule: each mistake is named with its line and its rule.

#include "tests/core/prove/rule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/rules/rule_set.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::prove {
namespace {

using ::quotient::testing::StatusIs;
using ::quotient::testing::TempDir;
using ::testing::HasSubstr;

TEST(RuleFile, HasRulesWithTheirLines) {
  ASSERT_OK_AND_ASSIGN(const std::vector<FileRule> rules, ParseRuleFile(R"(# -(-x) = x
neg-neg: Neg(Neg(?x)) => ?x

either: Max(?x, Relu(?x)) => Relu(?x)
either: Max(Relu(?x), ?x)
  => Relu(?x)
Abs(Abs(?x)) => Abs(?x)
)",
                                                                        "mine.txt"));
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].name, "neg-neg");
  EXPECT_EQ(rules[0].line, 2u);
  EXPECT_EQ(rules[1].line, 4u);
  EXPECT_EQ(rules[1].alternatives.size(), 2u);
  EXPECT_EQ(rules[2].name, "rule-4") << "after its position among the texts";
}

TEST(RuleFile, MakesItsRules) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<FileRule> rules,
      ParseRuleFile("a: Max(?x, Relu(?x)) => Relu(?x)\na: Max(Relu(?x), ?x) => Relu(?x)", "f"));
  domain::TensorDomain domain;
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const egraph::Rule> rule, MakerOf(rules[0])(&domain));
  EXPECT_EQ(rule->name(), "a");
  EXPECT_EQ(rule->programs().size(), 2u);
}

void ExpectError(const std::string& text, const std::string& message) {
  const auto rules = ParseRuleFile(text, "mine.txt");
  EXPECT_THAT(rules, StatusIs(absl::StatusCode::kInvalidArgument)) << text.substr(0, 100);
  EXPECT_THAT(std::string(rules.status().message()), HasSubstr(message));
}

TEST(RuleFile, MistakesAreNamedWithLineAndRule) {
  ExpectError("", "mine.txt has no rules");
  ExpectError("# nothing but this\n", "mine.txt has no rules");
  ExpectError("\n\nbad: Neg(?x => ?x", "mine.txt:3: rule bad: expected ')'");
  ExpectError("ok: Neg(Neg(?x)) => ?x\nNeg(?x) ?x", "mine.txt:2: rule rule-2: expected '=>'");
  ExpectError("a: Negg(?x) => ?x", "mine.txt:1: rule a: no operator 'Negg'");
  ExpectError("a: Neg(?x) => ?x if flat(?x)", "mine.txt:1: rule a: unknown guard flat");
  ExpectError("a: Neg(?x) => ?y", "mine.txt:1: rule a: ");
  ExpectError("a: Neg(?x, ?y) => ?x", "mine.txt:1: rule a: Neg has 2 operands, but takes 1");
  ExpectError("a: Neg(?x) => Add(?x)", "mine.txt:1: rule a: Add has 1 operand, but takes 2");
  ExpectError("a: Neg(?x) => ?m let ?m = Relu(?x, ?x)", "Relu has 2 operands");
  ExpectError("a: Concat[axes=1](?x, ?y) => ?x",
              "mine.txt:1: rule a: Concat has no attribute axes");
  ExpectError("a b: Neg(Neg(?x)) => ?x", "mine.txt:1: rule a b: a name has letters");
  ExpectError("a: Neg(Neg(?x)) => ?x\nb: Abs(Abs(?x)) => Abs(?x)\na: Neg(?x) => ?x",
              "mine.txt:3: rule a: line 1 has another rule of this name");
}

TEST(RuleFile, SizesAreBounded) {
  ExpectError(std::string(kMostFileBytes + 1, ' '), "has more than");
  ExpectError(absl::StrCat("a: Neg(Neg(?x)) => ?x if ", std::string(kMostRuleBytes, 'x')),
              "mine.txt:1: a rule of more than");
  std::string deep = "?x";
  for (int i = 0; i <= kMostLeftOperators; ++i) deep = absl::StrCat("Neg(", deep, ")");
  ExpectError(absl::StrCat("a: ", deep, " => ?x"), "operators on the left");
  std::string many;
  for (size_t i = 0; i <= kMostFileRules; ++i) absl::StrAppend(&many, "Neg(Neg(?x)) => ?x\n");
  ExpectError(many, absl::StrCat("mine.txt:", kMostFileRules + 1, ": more than"));
  ExpectError(std::string("a: Neg(?x) => ?x\n\0b", 19), "mine.txt:2: a control character");
}

TEST(RuleFile, OnlyFilesAreRead) {
  const TempDir folder;
  std::ofstream(folder / "rules.txt") << "a: Neg(Neg(?x)) => ?x\n";
  ASSERT_OK_AND_ASSIGN(const std::vector<FileRule> rules, ReadRuleFile(folder / "rules.txt"));
  EXPECT_EQ(rules.size(), 1u);
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  for (const char* name : {"nothing", "fifo", "."}) {
    const auto none = ReadRuleFile(folder / name);
    EXPECT_FALSE(none.ok());
    EXPECT_THAT(std::string(none.status().message()), HasSubstr(name));
  }
}

// Nothing is refused that our own families do.
TEST(RuleFile, OurFamiliesAreFiles) {
  for (const rules::Family& family : rules::AllFamilies()) {
    if (absl::string_view(family.text).empty()) continue;
    const auto rules = ParseRuleFile(family.text, family.name);
    EXPECT_OK(rules.status());
  }
}

}  // namespace
}  // namespace quotient::prove
