#include "server/ops/queue_age.h"

#include <map>
#include <string>

#include "tests/server/support/queue_fixture.h"

namespace quotient::ops {
namespace {

class QueueAgeTest : public testing::QueueTest {
 protected:
  // As at the start of a process.
  void Start() {
    auto waiting = ReadWaitingSince(*store_);
    ASSERT_OK(waiting);
    age_ = std::make_unique<QueueAge>(*waiting, &clock_);
    ledger_->AddObserver(age_.get());
  }

  std::unique_ptr<QueueAge> age_;
};

TEST_F(QueueAgeTest, TheOldestJobCountsUntilItIsTaken) {
  Start();
  EXPECT_EQ(age_->OldestSeconds(), 0);
  MustSubmit(Request("a"));
  clock_.AdvanceMs(5000);
  MustSubmit(Request("b"));
  clock_.AdvanceMs(1000);
  EXPECT_EQ(age_->OldestSeconds(), 6);
  MustClaim();
  EXPECT_EQ(age_->OldestSeconds(), 1);
  MustClaim();
  EXPECT_EQ(age_->OldestSeconds(), 0);
}

TEST_F(QueueAgeTest, AJobThatComesBackBeginsAnew) {
  Start();
  MustSubmit(Request("a"));
  clock_.AdvanceMs(5000);
  const jobs::Claimed claimed = MustClaim();
  clock_.AdvanceMs(60'000);
  ASSERT_OK(dispatch_->HandBack(claimed.lease, "drained"));
  clock_.AdvanceMs(2000);
  EXPECT_EQ(age_->OldestSeconds(), 2);
}

TEST_F(QueueAgeTest, AJobThatIsCancelledWaitsNoMore) {
  Start();
  const std::string id = MustSubmit(Request("a")).job.id;
  clock_.AdvanceMs(5000);
  ASSERT_OK(admission_->Cancel(id, ""));
  EXPECT_EQ(age_->OldestSeconds(), 0);
}

TEST_F(QueueAgeTest, ANewProcessKnowsSinceWhenJobsWait) {
  MustSubmit(Request("returned"));
  clock_.AdvanceMs(1000);
  const jobs::Claimed claimed = MustClaim();
  MustSubmit(Request("new"));
  clock_.AdvanceMs(1000);
  ASSERT_OK(dispatch_->HandBack(claimed.lease, "drained"));
  Restart();
  Start();
  clock_.AdvanceMs(1000);
  EXPECT_EQ(age_->OldestSeconds(), 2);  // The new one: the other one has come back since.
  MustSubmit(Request("third"));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  EXPECT_EQ(age_->OldestSeconds(), 0);
}

TEST_F(QueueAgeTest, AClockThatIsSetBackMakesNoNegativeAge) {
  Start();
  MustSubmit(Request("a"));
  clock_.SetForwardMs(-60'000);
  EXPECT_EQ(age_->OldestSeconds(), 0);
}

}  // namespace
}  // namespace quotient::ops
