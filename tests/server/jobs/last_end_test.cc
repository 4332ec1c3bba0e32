#include "server/jobs/last_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quotient::jobs {
namespace {

using Kind = LastEnd::Kind;
using enum Verdict;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<Lease> kOne = {{"a", "worker 0", 1}};
const std::vector<Lease> kTwo = {{"a", "worker 0", 1}, {"b", "worker 1", 7}};

TEST(LastEndTest, WhereNothingRanNobodyIsToBlame) {
  for (const Kind kind : {Kind::kUnknown, Kind::kTold, Kind::kRestart, Kind::kCrash}) {
    EXPECT_THAT(Judge({kind, "worker 0"}, {}), IsEmpty());
  }
}

TEST(LastEndTest, WhoeverEndsTheProcessOrTheMachineFromOutsideIsNoJob) {
  EXPECT_THAT(Judge({Kind::kTold}, kTwo), Each(kInnocent));
  EXPECT_THAT(Judge({Kind::kTold}, kOne), Each(kInnocent));
  EXPECT_THAT(Judge({Kind::kRestart}, kOne), Each(kInnocent));
}

TEST(LastEndTest, ACrashIsTheFaultOfTheJobWhoseThreadItWas) {
  EXPECT_THAT(Judge({Kind::kCrash, "worker 1"}, kTwo), ElementsAre(kInnocent, kGuilty));
  EXPECT_THAT(Judge({Kind::kCrash, "worker 0"}, kOne), ElementsAre(kGuilty));
}

TEST(LastEndTest, ACrashOfAnInspectionIsNoJobsFault) {
  EXPECT_THAT(Judge({Kind::kCrash, "inspect"}, kOne), ElementsAre(kInnocent));
}

TEST(LastEndTest, OtherwiseTheOnlyOneIsGuiltyAndSeveralAreSuspect) {
  for (const LastEnd& end :
       {LastEnd{Kind::kUnknown}, LastEnd{Kind::kCrash, "quotientd"}, LastEnd{Kind::kCrash, ""}}) {
    EXPECT_THAT(Judge(end, kOne), ElementsAre(kGuilty));
    EXPECT_THAT(Judge(end, kTwo), ElementsAre(kSuspect, kSuspect));
  }
}

}  // namespace
}  // namespace quotient::jobs
