// The rules that core/generate/GENERATED.md lists are rules.

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_text.h"
#include "core/rules/rule_set.h"
#include "core/rules/vocabulary.h"
#include "tests/support/status_matchers.h"

namespace quotient::generate {
namespace {

// What stands between fences.
std::string RulesOfPage() {
  std::ifstream file("core/generate/GENERATED.md");
  std::stringstream page;
  page << file.rdbuf();
  const std::vector<std::string> parts = absl::StrSplit(page.str(), "```");
  std::string rules;
  for (size_t i = 1; i < parts.size(); i += 2) absl::StrAppend(&rules, parts[i], "\n");
  return rules;
}

TEST(GeneratedRules, AreRules) {
  const std::string text = RulesOfPage();
  const size_t num_rules = egraph::SplitRules(text).size();
  EXPECT_GE(num_rules, 15u);
  domain::TensorDomain domain;
  rules::Words words(&domain);
  rules::AddCommonWords(words);
  const auto compiled = egraph::CompileRules(text, words.vocabulary());
  ASSERT_OK(compiled.status());
  EXPECT_EQ(compiled->size(), num_rules);
  for (const egraph::RuleLine& line : egraph::SplitRules(text)) {
    EXPECT_TRUE(line.equation.starts_with("exact")) << line.text;
  }
}

// A rule that was not adopted is none of ours, so it has another name.
TEST(GeneratedRules, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const std::string& name : rules::RuleNames()) names.insert(name);
  for (const egraph::RuleLine& line : egraph::SplitRules(RulesOfPage())) {
    EXPECT_TRUE(names.insert(line.text.substr(0, line.text.find(':'))).second) << line.text;
  }
}

}  // namespace
}  // namespace quotient::generate
