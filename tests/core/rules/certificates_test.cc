#include "core/rules/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/rules/rule_set.h"
#include "tests/support/status_matchers.h"

namespace quotient::rules {
namespace {

using ::quotient::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(CertificatesTest, EveryRuleHasOne) {
  RecordedCertificates left = Certificates();
  for (const std::string& name : RuleNames()) {
    const auto found = left.find(name);
    ASSERT_NE(found, left.end()) << name << ": run quotient-rules check --record "
                                 << "core/rules/certificates.txt";
    EXPECT_THAT(found->second.tier, AnyOf("exact", "exact for any function", "numeric")) << name;
    EXPECT_GT(found->second.instances + found->second.symbolic, 0) << name;
    left.erase(found);
  }
  EXPECT_THAT(left, ::testing::IsEmpty()) << "certificates of rules that do not exist";
}

TEST(CertificatesTest, AreReadAsTheyAreWritten) {
  const std::string text = ToText(Certificates());
  ASSERT_OK_AND_ASSIGN(const RecordedCertificates read, ParseCertificates(text));
  EXPECT_EQ(ToText(read), text);
}

TEST(CertificatesTest, WhatIsNoneIsNamed) {
  for (const char* line : {"mul-one\texact\t1\t1\t1\t1\t0.0e+00\n", "mul-one exact 1 1 1 1 0 -\n",
                           "mul-one\texact\tmany\t1\t1\t1\t0.0e+00\t\n",
                           "mul-one\texact\t1\t1\tmany\t1\t0.0e+00\t\n"}) {
    const auto parsed = ParseCertificates(line);
    EXPECT_THAT(parsed, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("mul-one"));
  }
}

}  // namespace
}  // namespace quotient::rules
