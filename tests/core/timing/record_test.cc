#include "core/timing/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/core/timing/made_timing.h"

namespace quotient::timing {
namespace {

TEST(RecordTest, ComesBackAsItWas) {
  const Record record{std::string("key\0with zero", 13), "fingerprint", Ok(1.25)};
  const std::string bytes = EncodeRecord(record);
  const DecodeResult decoded = DecodeRecord(bytes + "more");
  ASSERT_EQ(decoded.outcome, DecodeResult::Outcome::kRecord);
  EXPECT_EQ(decoded.size, bytes.size());
  EXPECT_EQ(decoded.record.key, record.key);
  EXPECT_EQ(decoded.record.fingerprint, record.fingerprint);
  EXPECT_EQ(decoded.record.timing, record.timing);
}

TEST(RecordTest, TimesThatAreNoTimesAreNotTaken) {
  for (double bad : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    const std::string bytes = EncodeRecord({"k", "f", Ok(bad)});
    EXPECT_EQ(DecodeRecord(bytes).outcome, DecodeResult::Outcome::kSkip);
  }
}

}  // namespace
}  // namespace quotient::timing
