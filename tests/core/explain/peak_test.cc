#include "core/explain/peak.h"

#include <gtest/gtest.h>

namespace quotient::explain {
namespace {

// 100 operations, 80 bytes from caches and 20 bytes from memory in a microsecond.
const report::Peak kPeak = {100, {{1 << 10, 80}, {1 << 20, 20}}, 2};

TEST(PeakTest, TheSlowerOfArithmeticAndMemoryTakesTheTime) {
  const LeastTime products = TimeAtPeak(kPeak, {.operations = 1000, .activation_bytes = 400});
  EXPECT_DOUBLE_EQ(products.us, 10);
  EXPECT_STREQ(products.bound, "arithmetic");
  const LeastTime copies = TimeAtPeak(kPeak, {.operations = 100, .activation_bytes = 800});
  EXPECT_DOUBLE_EQ(copies.us, 10);
  EXPECT_STREQ(copies.bound, "memory");
}

TEST(PeakTest, NothingIsFasterThanStarting) {
  const LeastTime least = TimeAtPeak(kPeak, {.operations = 1, .activation_bytes = 1});
  EXPECT_DOUBLE_EQ(least.us, 2);
  EXPECT_STREQ(least.bound, "start");
}

TEST(PeakTest, BandwidthFallsBetweenTheSizesThatWereMeasured) {
  EXPECT_DOUBLE_EQ(TimeAtPeak(kPeak, {.activation_bytes = 1 << 15}).us, (1 << 15) / 40.0);
  EXPECT_DOUBLE_EQ(TimeAtPeak(kPeak, {.activation_bytes = 1 << 25}).us, (1 << 25) / 20.0);
}

TEST(PeakTest, ConstantsAreAsColdAsTheWholeModelMakesThem) {
  EXPECT_DOUBLE_EQ(TimeAtPeak(kPeak, {.constant_bytes = 800}).us, 10);
  EXPECT_DOUBLE_EQ(TimeAtPeak(kPeak, {.constant_bytes = 800, .footprint_bytes = 1 << 20}).us, 40);
}

}  // namespace
}  // namespace quotient::explain
