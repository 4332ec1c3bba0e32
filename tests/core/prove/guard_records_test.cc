// core/rules/guards.txt: a line for each guard of the rules, with what is known of it.

#include "core/rules/guard_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "core/rules/guard_notes.h"
#include "tests/core/prove/guards.h"
#include "tests/support/status_matchers.h"

namespace quotient::prove {
namespace {

using ::quotient::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRecord[] = "run quotient-rules guards --record core/rules/guards.txt";

TEST(GuardRecords, AreThoseOfTheRules) {
  using Key = std::tuple<std::string, int, std::string, std::string>;
  std::vector<Key> wanted;
  for (const GuardedRule& each : AllGuards()) {
    const char* const purpose = NameOf(RecordOf(each, GuardFinding()).purpose);
    wanted.emplace_back(each.rule, each.left, each.guard, purpose);
  }
  std::vector<Key> recorded;
  for (const rules::RecordedGuard& each : rules::Guards()) {
    recorded.emplace_back(each.rule, each.left, each.guard, NameOf(each.purpose));
    EXPECT_THAT(each.finding, Not(::testing::IsEmpty())) << each.rule << " " << each.guard;
  }
  EXPECT_EQ(recorded, wanted) << kRecord;
}

TEST(GuardRecords, EachIsNeededOrExplained) {
  for (const rules::RecordedGuard& each : rules::Guards()) {
    EXPECT_TRUE(IsExplained(each)) << each.rule << " " << each.guard << ": " << each.finding;
  }
}

TEST(GuardRecords, EachNoteIsOnAGuardOfARule) {
  for (const rules::GuardNote& note : rules::GuardNotes()) {
    const auto is_on = [&](const rules::RecordedGuard& guard) {
      return rules::NoteOn(guard.rule, guard.guard) == &note;
    };
    EXPECT_TRUE(std::ranges::any_of(rules::Guards(), is_on)) << note.rule << " " << note.guard;
  }
}

// All of them take minutes: quotient-rules guards.
TEST(GuardRecords, ASampleIsFoundAgain) {
  constexpr size_t kStep = 29;
  const std::vector<GuardedRule> guards = AllGuards();
  ASSERT_EQ(guards.size(), rules::Guards().size()) << kRecord;
  for (size_t i = 0; i < guards.size(); i += kStep) {
    const rules::RecordedGuard& recorded = rules::Guards()[i];
    ASSERT_OK_AND_ASSIGN(const GuardFinding finding,
                         NeedOf(guards[i], /*instances=*/10, /*seed=*/0));
    EXPECT_EQ(RecordOf(guards[i], finding).is_needed, recorded.is_needed)
        << recorded.rule << " " << recorded.guard << ": " << finding.why << "; " << kRecord;
  }
}

TEST(GuardRecords, AreReadAsTheyAreWritten) {
  const std::string text = rules::ToText(rules::Guards());
  ASSERT_OK_AND_ASSIGN(const auto read, rules::ParseGuards(text));
  EXPECT_EQ(rules::ToText(read), text);
}

TEST(GuardRecords, WhatIsNoneIsNamed) {
  for (const char* line : {"mul-one\t1\tis(?c, 1)\tneeded\tequation\n",
                           "mul-one\tone\tis(?c, 1)\tneeded\tequation\tx\n",
                           "mul-one\t1\tis(?c, 1)\tperhaps\tequation\tx\n",
                           "mul-one\t1\tis(?c, 1)\tneeded\tbeauty\tx\n"}) {
    const auto parsed = rules::ParseGuards(line);
    EXPECT_THAT(parsed, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("mul-one"));
  }
}

}  // namespace
}  // namespace quotient::prove
