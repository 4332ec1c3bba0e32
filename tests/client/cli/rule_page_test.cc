#include "client/cli/rule_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/domain/tensor_domain.h"
#include "core/rules/rule_set.h"
#include "tests/support/status_matchers.h"

namespace quotient::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class RulePageTest : public ::testing::Test {
 protected:
  RulePageTest() : set_(*rules::BuildFamilies(&domain_, rules::AllFamilies(), {})) {}

  RulePage Page(const std::string& name, absl::StatusOr<timing::RuleTable> stats) const {
    const auto rule = std::ranges::find(set_.rules(), name, &egraph::Rule::name);
    EXPECT_NE(rule, set_.rules().end());
    return {.rule = *rule,
            .family = "algebra",
            .certificate = {.tier = "exact for any function",
                            .instances = 20,
                            .exact = 19,
                            .symbolic = 1,
                            .equations = 85,
                            .note = "Max"},
            .guards = {},
            .stats = std::move(stats),
            .version = "v1"};
  }

  domain::TensorDomain domain_;
  rules::RuleSet set_;
};

timing::RuleTable Stats(const std::string& rule) {
  timing::DeviceRules device = {.jobs = 4, .last_unix_s = 1'700'000'000};
  device.rules[{rule, "v1"}] = {2, 1, 30, 20, 44, 6, 0.5, 0.25, 1'700'000'000};
  device.rules[{"other", "v1"}] = {1, 1, 3, 3, 9, 3, 0.4, 0.4, 1'600'000'000};
  return {{"model:h200; data sheet 2", device}};
}

TEST_F(RulePageTest, HasAllOfARule) {
  const std::string text = PageText(Page("max-relu", Stats("max-relu")));
  EXPECT_THAT(text,
              HasSubstr("max-relu, of the family algebra\n\n  Max(x, Relu(x)) = Relu(x)\n\n"));
  EXPECT_THAT(text, HasSubstr("text:\n  max-relu: Max(?x, Relu(?x)) => Relu(?x)\n"
                              "  max-relu: Max(Relu(?x), ?x) => Relu(?x)\nguards: none\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "certificate: exact for any function\n  compared in 20 graphs with "
          "numbers, 19 of which agree in exact arithmetic, and in 1 with symbols; 85 values"));
  EXPECT_THAT(text, HasSubstr("  whatever these functions are: Max\n"));
  EXPECT_THAT(text, HasSubstr("statistics:\nmodel:h200 (data sheet 2): 4 jobs,"));
  EXPECT_THAT(text, HasSubstr("\n  max-relu                      2      1 "));
  EXPECT_THAT(text, Not(HasSubstr("\n  other")));
}

TEST_F(RulePageTest, GuardsOfAllLinesAreNamedOnce) {
  const RulePage page = Page("max-of-negs", timing::RuleTable());
  const std::string text = PageText(page);
  EXPECT_THAT(text, HasSubstr("guards:\n  float(?x)\ncertificate: "));
  EXPECT_THAT(text, HasSubstr("statistics: it has had no match in the jobs so far\n"));
  const auto json = nlohmann::json::parse(PageJson(page));
  EXPECT_THAT(json["guards"], ElementsAre("float(?x)"));
  EXPECT_EQ(json["text"].size(), 2u);
  EXPECT_TRUE(json["statistics"]["devices"].empty());
}

TEST_F(RulePageTest, ToldIsWhatAGuardIsFor) {
  RulePage page = Page("max-of-negs", timing::RuleTable());
  const rules::RecordedGuard needed = {.rule = "max-of-negs",
                                       .left = 1,
                                       .guard = "float(?x)",
                                       .is_needed = true,
                                       .purpose = rules::Purpose::kTypes,
                                       .finding = "differs: Neg"};
  rules::RecordedGuard other = needed;
  other.left = 2;
  other.is_needed = false;
  other.finding = "exact";
  page.guards = {needed, other};
  EXPECT_THAT(PageText(page),
              HasSubstr("guards:\n  float(?x)\n"
                        "    in line 1: needed; without it: differs: Neg\n"
                        "    in line 2: for types: integers are moved, never computed in another "
                        "way; the rule without it: exact\ncertificate: "));
  const auto json = nlohmann::json::parse(PageJson(page));
  EXPECT_EQ(json["guard_counts"], nlohmann::json({{"all", 2}, {"needed", 1}}));
  ASSERT_EQ(json["guard_findings"].size(), 2u);
  EXPECT_EQ(json["guard_findings"][0]["needed"], true);
  EXPECT_EQ(json["guard_findings"][1]["purpose"], "types");
  EXPECT_EQ(json["guard_findings"][1]["line"], 2);
  // What is the same of all lines is said once.
  page.guards[1] = needed;
  EXPECT_THAT(PageText(page), HasSubstr("  float(?x)\n    needed; without it: differs: Neg\n"
                                        "certificate: "));
}

TEST_F(RulePageTest, GuardsAreCounted) {
  EXPECT_EQ(NeededOf({}), "-");
  const std::vector<rules::RecordedGuard> guards = {
      {.is_needed = true, .purpose = rules::Purpose::kEquation},
      {.is_needed = false, .purpose = rules::Purpose::kCost},
      {.is_needed = false, .purpose = rules::Purpose::kCost},
      {.is_needed = false, .purpose = rules::Purpose::kRounding}};
  EXPECT_EQ(NeededOf(guards), "1/4");
  EXPECT_EQ(GuardCounts(guards),
            "4 guards: 1 needed, as counterexamples show, 1 for rounding, 2 for cost");
}

TEST_F(RulePageTest, ARuleByHandHasNoText) {
  const RulePage page = Page("conv-merge", absl::NotFoundError("no home folder\x1b[31m"));
  const std::string text = PageText(page);
  EXPECT_THAT(text, HasSubstr("text and guards: none, it is written in C++\n"));
  EXPECT_THAT(text, HasSubstr("statistics: not known: no home folder"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  const auto json = nlohmann::json::parse(PageJson(page));
  EXPECT_TRUE(json["text"].empty());
  EXPECT_TRUE(json["statistics"].is_null());
}

TEST_F(RulePageTest, JsonHasAllOfARule) {
  const auto json = nlohmann::json::parse(PageJson(Page("max-relu", Stats("max-relu"))));
  EXPECT_EQ(json["name"], "max-relu");
  EXPECT_EQ(json["family"], "algebra");
  EXPECT_EQ(json["equation"], "Max(x, Relu(x)) = Relu(x)");
  EXPECT_THAT(json["text"], ElementsAre("max-relu: Max(?x, Relu(?x)) => Relu(?x)",
                                        "max-relu: Max(Relu(?x), ?x) => Relu(?x)"));
  EXPECT_EQ(json["certificate"]["exact"], 19);
  const auto& device = json["statistics"]["devices"][0];
  ASSERT_EQ(device["rules"].size(), 1u);
  EXPECT_EQ(device["rules"][0]["saved_percent"], 25);
}

}  // namespace
}  // namespace quotient::cli
