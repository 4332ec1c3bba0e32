#include "core/report/rule_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "tests/core/report/example_report.h"

namespace quotient::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RegionGain Saving(double us) { return {.before = {{"Add", 1, us + 2}}, .after = {{"Sub", 1, 2}}}; }

TEST(RuleFigures, StepsAndRegionsAreCredited) {
  std::map<std::string, RuleFigures> rules = {{"fold", {.matches = 7, .applied = 5, .enodes = 9}},
                                              {"idle", {.matches = 3}}};
  const std::vector<JournalEntry> journal = {{.rule = "merge", .steps = {"fold", "merge"}},
                                             {.rule = "fold", .steps = {"fold"}},
                                             {.rule = "part"},
                                             {.rule = "part", .steps = {"idle"}}};
  Gains gains;
  gains.by_rules = {{.rules = {"fold", "merge"}, .regions = {Saving(8), Saving(2)}},
                    {.rules = {"fold"}, .regions = {Saving(-1)}},
                    {.regions = {Saving(50)}}};
  AddWorth(journal, gains, &rules);
  EXPECT_EQ(rules.size(), 4u);
  EXPECT_EQ(rules["fold"].matches, 7);
  EXPECT_EQ(rules["fold"].uses, 2);
  EXPECT_DOUBLE_EQ(rules["fold"].saved_us, 9);
  EXPECT_DOUBLE_EQ(rules["fold"].saved_alone_us, -1);
  EXPECT_EQ(rules["merge"].uses, 1);
  EXPECT_DOUBLE_EQ(rules["merge"].saved_us, 10);
  EXPECT_DOUBLE_EQ(rules["merge"].saved_alone_us, 0);
  EXPECT_EQ(rules["part"].uses, 2) << "what it made is in the result, though it is no step";
  EXPECT_EQ(rules["idle"].uses, 1);
  EXPECT_THAT(RulesByWorth(rules), ElementsAre("merge", "fold", "part", "idle"));
}

TEST(RuleFigures, TextTellsWhatRulesThatAreNotInTheResultCost) {
  EXPECT_EQ(RulesText(Report()), "");
  EXPECT_EQ(RulesText(Example()),
            "2 of 3 rules with a match are in the result; the others made 4 of 25 e-nodes");
}

TEST(RuleFigures, SumsStopAtTheLargestNumber) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Report report = {.rules = {{"a", {.enodes = kMost}}, {"b", {.enodes = kMost}}}};
  EXPECT_THAT(RulesText(report), HasSubstr("made 9223372036854775807 of 9223372036854775807"));
}

}  // namespace
}  // namespace quotient::report
