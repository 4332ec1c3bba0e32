#include "core/rules/simplifying.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/rules/rule_set.h"

namespace quotient::rules {
namespace {

using ::testing::Contains;
using ::testing::IsSubsetOf;
using ::testing::Not;

TEST(SimplifyingRules, AreRules) { EXPECT_THAT(SimplifyingRules(), IsSubsetOf(RuleNames())); }

// Every rule is in one of the two lists, and none in both.
TEST(SimplifyingRules, AreAllBeforeTheOthers) {
  EXPECT_EQ(SimplifyingRules().size() + RulesThatMayLose().size(), RuleNames().size());
  EXPECT_THAT(RulesThatMayLose(), Contains("conv-merge"));
  EXPECT_THAT(RulesThatMayLose(), Not(Contains("conv-batchnorm")));
}

}  // namespace
}  // namespace quotient::rules
