#include "core/search/backoff.h"

#include <gtest/gtest.h>

#include <limits>

namespace quotient::search {
namespace {

TEST(Backoff, BansGrowTwiceAsLong) {
  Backoff backoff(2);
  EXPECT_FALSE(backoff.banned(0, 0));
  EXPECT_EQ(backoff.NextRelease(0), Backoff::kNothingBanned);

  backoff.Ban(0, 0);
  EXPECT_TRUE(backoff.banned(0, 1));
  EXPECT_TRUE(backoff.banned(0, 2));
  EXPECT_FALSE(backoff.banned(0, 3));
  EXPECT_FALSE(backoff.banned(1, 1));

  backoff.Ban(0, 3);
  EXPECT_TRUE(backoff.banned(0, 7));
  EXPECT_FALSE(backoff.banned(0, 8));
}

TEST(Backoff, NamesTheNextRelease) {
  Backoff backoff(2);
  backoff.Ban(0, 0);
  backoff.Ban(1, 1);
  EXPECT_EQ(backoff.NextRelease(1), 3);
  EXPECT_EQ(backoff.NextRelease(3), 4);
  EXPECT_EQ(backoff.NextRelease(4), Backoff::kNothingBanned);
}

TEST(Backoff, NeverOverflows) {
  Backoff backoff(1);
  for (int i = 0; i < 200; ++i) {
    const int64_t now =
        backoff.NextRelease(0) == Backoff::kNothingBanned ? 0 : backoff.NextRelease(0);
    backoff.Ban(0, now);
    EXPECT_TRUE(backoff.banned(0, now + 1));
  }
}

TEST(Backoff, EachBanDoublesWhatAnIterationTakes) {
  Backoff backoff(1);
  EXPECT_EQ(backoff.Scaled(0, 7), 7u);
  backoff.Ban(0, 0);
  EXPECT_EQ(backoff.Scaled(0, 7), 14u);
  backoff.Ban(0, 3);
  EXPECT_EQ(backoff.Scaled(0, 7), 28u);
  EXPECT_GE(backoff.Scaled(0, std::numeric_limits<size_t>::max()), size_t{1} << 60);
}

}  // namespace
}  // namespace quotient::search
