#include "server/worker/storage_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/reason.h"
#include "tests/server/support/fake_clock.h"
#include "tests/support/log_capture.h"

namespace quotient::worker {
namespace {

using ::testing::ElementsAre;

class StorageGateTest : public ::testing::Test {
 protected:
  // As after a job whose result could not be stored.
  void Fail() { gate_.Failed(MakeError(Reason::kStorageDown, "full")); }
  int64_t ClosedMs() { return absl::ToInt64Milliseconds(gate_.Closed()); }
  void Pass(int64_t ms) {
    EXPECT_EQ(ClosedMs(), ms);
    clock_.AdvanceMs(ms);
  }
  std::string TakeChanges() { return std::exchange(changes_, ""); }

  testing::FakeClock clock_;
  bool takes_some_ = true;
  std::string changes_;
  StorageGate gate_{{.first = absl::Seconds(1), .longest = absl::Seconds(5)},
                    {.clock = &clock_,
                     .probe =
                         [this] {
                           return takes_some_ ? absl::OkStatus()
                                              : MakeError(Reason::kStorageDown, "full");
                         },
                     .on_change =
                         [this](const absl::Status& state) {
                           changes_ += state.ok() ? "up " : "down ";
                           EXPECT_TRUE(state.ok() || state.message() == "full");
                         }}};
};

TEST_F(StorageGateTest, IsOpenAtFirst) {
  EXPECT_EQ(ClosedMs(), 0);
  EXPECT_EQ(TakeChanges(), "");
}

TEST_F(StorageGateTest, OpensAfterAPauseIfTheStorageHasRoom) {
  Fail();
  EXPECT_EQ(TakeChanges(), "down ");
  Pass(1000);
  EXPECT_EQ(TakeChanges(), "");
  EXPECT_EQ(ClosedMs(), 0);
  EXPECT_EQ(TakeChanges(), "up ");
}

TEST_F(StorageGateTest, PausesGrowWhileNothingCanBeWritten) {
  takes_some_ = false;
  Fail();
  Pass(1000);
  Pass(2000);
  Pass(4000);
  Pass(5000);
  Pass(5000);
  EXPECT_EQ(TakeChanges(), "down ");
  takes_some_ = true;
  EXPECT_EQ(ClosedMs(), 0);
  EXPECT_EQ(TakeChanges(), "up ");
}

TEST_F(StorageGateTest, PausesGrowFromJobToJobUntilAResultIsStored) {
  Fail();
  Pass(1000);
  EXPECT_EQ(ClosedMs(), 0);
  Fail();
  Pass(2000);
  EXPECT_EQ(ClosedMs(), 0);
  gate_.Stored();
  Fail();
  Pass(1000);
}

TEST_F(StorageGateTest, ItCanBeAskedWithoutAnyConsequence) {
  EXPECT_TRUE(gate_.TakesSome());
  takes_some_ = false;
  EXPECT_FALSE(gate_.TakesSome());
  EXPECT_EQ(ClosedMs(), 0);
  EXPECT_EQ(TakeChanges(), "");
}

TEST_F(StorageGateTest, TheLogSaysWhatFailsAndWhenItIsOver) {
  const testing::LogCapture log;
  Fail();
  Pass(1000);
  ClosedMs();
  EXPECT_THAT(log.lines(), ElementsAre("error storage fails, the next attempt is in 1.0 s: full\n",
                                       "info storage takes results again\n"));
}

TEST_F(StorageGateTest, AnIdleServerFindsOutThatNothingCanBeStored) {
  gate_.NothingToStore();
  takes_some_ = false;
  gate_.NothingToStore();
  EXPECT_EQ(TakeChanges(), "") << "it does not look all the time";
  clock_.AdvanceMs(30'000);
  gate_.NothingToStore();
  EXPECT_EQ(TakeChanges(), "down ");
  takes_some_ = true;
  Pass(1000);
  EXPECT_EQ(ClosedMs(), 0);
  EXPECT_EQ(TakeChanges(), "up ");
}

}  // namespace
}  // namespace quotient::worker
