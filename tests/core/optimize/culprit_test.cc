#include "core/optimize/culprit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"

namespace quotient::optimize {
namespace {

using Rules = std::vector<std::string>;

bool Holds(const Rules& rules, const std::string& rule) {
  return std::ranges::find(rules, rule) != rules.end();
}

Rules ManyRules(int count) {
  Rules rules;
  for (int i = 0; i < count; ++i) rules.push_back(absl::StrCat("rule-", i));
  return rules;
}

TEST(CulpritTest, EachOfManyRulesIsFoundInAFewTrials) {
  for (const int count : {1, 2, 3, 8, 20}) {
    for (const std::string& wrong : ManyRules(count)) {
      int trials_left = 100;
      const auto found = FindCulprit(
          ManyRules(count), [&](const Rules& tried) { return !Holds(tried, wrong); }, &trials_left);
      ASSERT_TRUE(found.ok());
      EXPECT_EQ(*found, wrong);
      EXPECT_LE(100 - trials_left, std::log2(count) + 2);
    }
  }
}

TEST(CulpritTest, OfTwoThatAreWrongTogetherOneIsFound) {
  int trials_left = 100;
  const auto found = FindCulprit(
      ManyRules(6),
      [](const Rules& tried) { return !Holds(tried, "rule-1") || !Holds(tried, "rule-4"); },
      &trials_left);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, "rule-4");
}

TEST(CulpritTest, RulesThatDoNoHarmWhenTriedAgainAreInnocent) {
  int trials_left = 100;
  const auto found = FindCulprit(
      ManyRules(3), [](const Rules&) { return true; }, &trials_left);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, std::nullopt);
  EXPECT_EQ(trials_left, 99);
}

TEST(CulpritTest, OfNoRulesNoneIsToBlame) {
  int trials_left = 100;
  const auto found = FindCulprit(
      {}, [](const Rules&) { return false; }, &trials_left);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, std::nullopt);
}

TEST(CulpritTest, NoMoreTrialsThanAreLeft) {
  for (int allowed = 0; allowed < 7; ++allowed) {
    int trials_left = allowed;
    int trials = 0;
    const auto found = FindCulprit(
        ManyRules(64),
        [&](const Rules& tried) {
          ++trials;
          return !Holds(tried, "rule-40");
        },
        &trials_left);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, std::nullopt);
    EXPECT_EQ(trials, allowed);
    EXPECT_EQ(trials_left, 0);
  }
}

TEST(CulpritTest, AnErrorEndsTheHunt) {
  int trials_left = 100;
  const auto cancelled = [](const Rules&) -> absl::StatusOr<bool> {
    return MakeError(Reason::kCancelled, "the job was cancelled");
  };
  EXPECT_EQ(GetReason(FindCulprit(ManyRules(4), cancelled, &trials_left).status()),
            Reason::kCancelled);
}

}  // namespace
}  // namespace quotient::optimize
