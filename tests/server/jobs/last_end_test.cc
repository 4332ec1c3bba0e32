#include "server/jobs/last_end.h"

#include <gtest/gtest.h>

namespace quotient::jobs {
namespace {

using Kind = LastEnd::Kind;

TEST(LastEndTest, WhoeverEndsTheProcessOrTheMachineFromOutsideIsNoJob) {
  for (const Kind kind : {Kind::kTold, Kind::kRestart}) {
    EXPECT_EQ(Judge({kind}, 1), Verdict::kInnocent);
    EXPECT_EQ(Judge({kind}, 2), Verdict::kInnocent);
  }
}

TEST(LastEndTest, OtherwiseTheOnlyOneIsGuiltyAndSeveralAreSuspect) {
  EXPECT_EQ(Judge({Kind::kUnknown}, 1), Verdict::kGuilty);
  EXPECT_EQ(Judge({Kind::kUnknown}, 2), Verdict::kSuspect);
}

}  // namespace
}  // namespace quotient::jobs
