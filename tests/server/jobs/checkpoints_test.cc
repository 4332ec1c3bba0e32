#include "server/jobs/checkpoints.h"

#include <string>

#include "tests/server/support/queue_fixture.h"

namespace quotient::jobs {
namespace {

using ::quotient::testing::QueueTest;
using ::quotient::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CheckpointsTest : public QueueTest {
 protected:
  Claimed MustRun(absl::string_view model) {
    MustSubmit(Request(model));
    return MustClaim();
  }
  void ExpectNoneIsLeft() { EXPECT_THAT(*checkpoint_store_->List(), IsEmpty()); }
};

TEST_F(CheckpointsTest, TheLastOneIsFound) {
  const Claimed claimed = MustRun("a");
  EXPECT_EQ(checkpoints_->Find(claimed.job.id), "");
  ASSERT_OK(checkpoints_->Save(claimed.lease, "first"));
  ASSERT_OK(checkpoints_->Save(claimed.lease, "second"));
  EXPECT_EQ(checkpoints_->Find(claimed.job.id), "second");
  EXPECT_EQ(checkpoints_->Find("other"), "");
}

TEST_F(CheckpointsTest, AnOlderLeaseOverwritesNothing) {
  const Claimed old = MustRun("a");
  ASSERT_OK(checkpoints_->Save(old.lease, "old"));
  ASSERT_OK(dispatch_->RecoverAll({}));
  const Claimed current = MustClaim();
  ASSERT_EQ(current.job.id, old.job.id);
  EXPECT_THAT(checkpoints_->Save(old.lease, "late"), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(checkpoints_->Find(old.job.id), "old");
  ASSERT_OK(checkpoints_->Save(current.lease, "new"));
  EXPECT_THAT(checkpoints_->Save(old.lease, "late"), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(checkpoints_->Find(old.job.id), "new");
}

TEST_F(CheckpointsTest, SurvivesARestart) {
  const Claimed claimed = MustRun("a");
  ASSERT_OK(checkpoints_->Save(claimed.lease, "bytes"));
  Restart();
  ASSERT_OK(dispatch_->RecoverAll({}));
  ASSERT_OK_AND_ASSIGN(const int removed, checkpoints_->RemoveEnded());
  EXPECT_EQ(removed, 0);
  EXPECT_EQ(checkpoints_->Find(MustClaim().job.id), "bytes");
}

TEST_F(CheckpointsTest, GoesWhenTheJobEndsHoweverThatIs) {
  const Claimed succeeds = MustRun("a");
  ASSERT_OK(checkpoints_->Save(succeeds.lease, "bytes"));
  ASSERT_OK(dispatch_->Finish(succeeds.lease, SomeResult()));
  ExpectNoneIsLeft();
  EXPECT_THAT(checkpoints_->Save(succeeds.lease, "late"), StatusIs(absl::StatusCode::kAborted));
  ExpectNoneIsLeft();

  const Claimed fails = MustRun("b");
  ASSERT_OK(checkpoints_->Save(fails.lease, "bytes"));
  ASSERT_OK(dispatch_->Finish(fails.lease, MakeError(Reason::kLimitDims, "too many")));
  ExpectNoneIsLeft();

  const Claimed waits = MustRun("c");
  ASSERT_OK(checkpoints_->Save(waits.lease, "bytes"));
  ASSERT_OK(dispatch_->HandBack(waits.lease, "drained"));
  EXPECT_EQ(checkpoints_->Find(waits.job.id), "bytes");
  ASSERT_OK(admission_->Cancel(waits.job.id, ""));
  ExpectNoneIsLeft();

  MustSubmit(Request("d"));
  for (int i = 0; i < Ledger::kMaxAttempts; ++i) {
    ASSERT_OK(checkpoints_->Save(MustClaim().lease, "bytes"));
    ASSERT_OK(dispatch_->RecoverAll({}));
  }
  ExpectNoneIsLeft();
}

// As after a crash between a job's end and the removal.
TEST_F(CheckpointsTest, ThoseOfJobsThatHaveEndedAreRemovedAtTheStart) {
  const Claimed ended = MustRun("a");
  ASSERT_OK(dispatch_->Finish(ended.lease, SomeResult()));
  const Claimed runs = MustRun("b");
  for (const std::string& id : {ended.job.id, runs.job.id, std::string("nobody")}) {
    ASSERT_OK((*checkpoint_store_->Stage(id, "bytes"))->Commit());
  }
  ASSERT_OK_AND_ASSIGN(const int removed, checkpoints_->RemoveEnded());
  EXPECT_EQ(removed, 2);
  EXPECT_THAT(*checkpoint_store_->List(), ElementsAre(runs.job.id));
}

}  // namespace
}  // namespace quotient::jobs
