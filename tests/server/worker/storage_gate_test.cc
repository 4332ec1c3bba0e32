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
  // As after a job whose result, of about 100 bytes, could not be stored.
  void Fail() { gate_.Failed(MakeError(Reason::kStorageDown, "full"), 100); }
  int64_t ClosedMs() { return absl::ToInt64Milliseconds(gate_.Closed()); }
  void Pass(int64_t ms) {
    EXPECT_EQ(ClosedMs(), ms);
    clock_.AdvanceMs(ms);
  }
  std::string TakeChanges() { return std::exchange(changes_, ""); }

  testing::FakeClock clock_;
  int64_t room_ = 1000;  // Negative: not even a probe can be written.
  std::string changes_;
  StorageGate gate_{{.first = absl::Seconds(1), .longest = absl::Seconds(5)},
                    {.clock = &clock_,
                     .probe =
                         [this](int64_t bytes) {
                           return room_ >= bytes ? absl::OkStatus()
                                                 : MakeError(Reason::kStorageDown, "full");
                         },
                     .on_change = [this](bool up) { changes_ += up ? "up " : "down "; }}};
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
  room_ = -1;
  Fail();
  Pass(1000);
  Pass(2000);
  Pass(4000);
  Pass(5000);
  Pass(5000);
  EXPECT_EQ(TakeChanges(), "down ");
  room_ = 1000;
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

TEST_F(StorageGateTest, WhereItIsNotSureThatThereIsRoomAJobTells) {
  room_ = 50;
  Fail();
  Pass(1000);
  EXPECT_EQ(ClosedMs(), 0);
  EXPECT_EQ(TakeChanges(), "down ");  // A job is tried, and the server is not ready meanwhile.
  gate_.Stored();
  EXPECT_EQ(TakeChanges(), "up ");
}

TEST_F(StorageGateTest, WithoutAJobToTryItIsReady) {
  room_ = 50;
  Fail();
  Pass(1000);
  EXPECT_EQ(ClosedMs(), 0);
  gate_.NothingToStore();
  EXPECT_EQ(TakeChanges(), "down up ");
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
  room_ = -1;
  gate_.NothingToStore();
  EXPECT_EQ(TakeChanges(), "") << "it does not look all the time";
  clock_.AdvanceMs(30'000);
  gate_.NothingToStore();
  EXPECT_EQ(TakeChanges(), "down ");
  room_ = 1000;
  Pass(1000);
  EXPECT_EQ(ClosedMs(), 0);
  EXPECT_EQ(TakeChanges(), "up ");
}

}  // namespace
}  // namespace quotient::worker
