#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/report/report.h"
#include "core/rules/rule_set.h"
#include "tests/core/optimize/optimize_fixture.h"

// Rules that do not hold: what they lead to is not delivered, and they are named.

namespace quotient::optimize {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

using WrongRulesTest = OptimizeTest;

// The table's rules, and wrong ones.
std::vector<rules::Family> FamiliesWith(const char* wrong) {
  const std::span<const rules::Family> table = rules::AllFamilies();
  std::vector<rules::Family> families(table.begin(), table.end());
  families.push_back({"wrong", wrong, nullptr, nullptr});
  return families;
}

TEST_F(WrongRulesTest, AWrongRuleIsNamedAndWhatTheOthersGainIsDelivered) {
  const std::string model = Branches();
  const auto right = Run(model);
  ASSERT_TRUE(right.ok()) << right.status();
  ASSERT_EQ(right->report.outcome, report::Outcome::kImproved);
  const std::vector<rules::Family> families = FamiliesWith(R"(
# Relu(x) = x, which only holds for x that are not negative
relu-is-nothing: Relu(?x) => ?x
)");
  families_ = families;
  const auto result = Run(model);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("did not agree with the original")));
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'relu-is-nothing' was left out")));
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_TRUE(result->report.verification.passed);
  EXPECT_TRUE(result->files.model == right->files.model);
}

// On inputs in [-1, 1] this is right, at any size.
TEST_F(WrongRulesTest, ARuleThatHoldsForSmallValuesAloneIsFound) {
  networks::NetworkBuilder builder("clipped", 5);
  std::string x = builder.Input("input", {"N", "8", "24", "24"});
  x = builder.Relu(builder.Conv(builder.Clip(x, -5, 5), 8, 8, 3, {.pad = 1}));
  builder.Output(x, {"N", "8", "24", "24"});
  const std::vector<rules::Family> families = FamiliesWith(R"(
# Clip(x) = x, which only holds for x within the bounds
clip-is-nothing: Clip[?c](?x) => ?x
)");
  families_ = families;
  const auto result = Run(std::move(builder).Build().SerializeAsString());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("values up to 1000")));
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'clip-is-nothing' was left out")));
}

TEST_F(WrongRulesTest, OfTwoWrongRulesBothAreNamed) {
  const std::vector<rules::Family> families = FamiliesWith(R"(
# Relu(x) = x, which only holds for x that are not negative
relu-is-nothing: Relu(?x) => ?x
# Conv(x) = x, which only holds for one kernel of all
conv-is-nothing: ?y = Conv[?c](?x, ?w, ?b) => ?x if same(?y, ?x)
)");
  families_ = families;
  const auto result = Run(Branches());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'relu-is-nothing' was left out")));
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'conv-is-nothing' was left out")));
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_TRUE(result->report.verification.passed);
}

}  // namespace
}  // namespace quotient::optimize
