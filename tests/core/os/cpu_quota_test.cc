#include "core/os/cpu_quota.h"

#include <gtest/gtest.h>

namespace quotient::os {
namespace {

TEST(CpuQuotaTest, IsQuotaByPeriod) {
  EXPECT_EQ(ParseCpuMax("150000 100000\n"), 1.5);
  EXPECT_EQ(ParseCpuMax("200000 50000"), 4.0);
}

TEST(CpuQuotaTest, WithoutALimitThereIsNone) {
  // Versions 2 and 1 of control groups, and what cannot be read.
  for (const char* text : {"max 100000", "-1 100000", "", " ", "100000", "0 0", "nan 1"}) {
    EXPECT_EQ(ParseCpuMax(text), std::nullopt) << text;
  }
}

TEST(CpuQuotaTest, OfThisProcessIsPositiveIfThereIsOne) { EXPECT_GT(CpuQuota().value_or(1), 0); }

}  // namespace
}  // namespace quotient::os
