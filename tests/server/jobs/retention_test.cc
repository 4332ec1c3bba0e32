#include "server/jobs/retention.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <optional>
#include <string>

#include "tests/server/support/queue_fixture.h"

namespace quotient::jobs {
namespace {

using ::quotient::testing::QueueTest;

constexpr int64_t kHourMs = 3'600'000;
constexpr int64_t kDayMs = 24 * kHourMs;

class RetentionTest : public QueueTest {
 protected:
  // The blobs have real times.
  RetentionTest() { clock_.SetForwardMs(Clock::System().UnixMs() - clock_.UnixMs()); }

  RetentionRound MustRun() {
    RetentionRound round;
    EXPECT_OK(Retention(retention_, ledger_.get(), blobs_.get(), &clock_).Run(&round));
    return round;
  }

  // A job that has ended, with blobs of its own.
  Job Ended(const std::string& model) {
    const std::string id = MustSubmit(Request(model)).job.id;
    const BlobId made = MustPut("result of " + model);
    JobResult result = SomeResult();
    result.model = result.report_json = result.report_html = made;
    EXPECT_OK(dispatch_->Finish(MustClaim().lease, result));
    return MustGet(id);
  }

  bool HasJob(const Job& job) { return store_->Get(job.id)->has_value(); }
  bool HasBlobs(const Job& job) {
    for (const BlobId& id : BlobsOf(job)) {
      if (!*blobs_->Contains(id)) return false;
    }
    return true;
  }
  // As if somebody had used the blob just now, by the clock of the test.
  void UseNow(const BlobId& id) {
    const int64_t ms = clock_.UnixMs();
    const timespec now{.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1'000'000};
    const timespec times[] = {now, now};
    ASSERT_EQ(utimensat(AT_FDCWD, blobs_->PathOf(id.digest).c_str(), times, 0), 0);
  }

  RetentionLimits retention_{.keep_ms = 30 * kDayMs};
};

TEST_F(RetentionTest, AJobIsRemovedWithItsBlobsWhenNobodyHasUsedItForLong) {
  const Job job = Ended("model");
  clock_.AdvanceMs(29 * kDayMs);
  EXPECT_EQ(MustRun().jobs_by_age, 0);
  EXPECT_TRUE(HasBlobs(job));
  clock_.AdvanceMs(2 * kDayMs);
  const RetentionRound round = MustRun();
  EXPECT_EQ(round.jobs_by_age, 1);
  EXPECT_EQ(round.blobs, 2);
  EXPECT_EQ(round.held_bytes, 0);
  EXPECT_FALSE(HasJob(job));
  EXPECT_TRUE(store_->History(job.id, 0)->empty());
}

TEST_F(RetentionTest, AJournalStaysAndGoesWithItsResult) {
  const std::string id = MustSubmit(Request("model")).job.id;
  JobResult result = SomeResult();
  result.journal = MustPut("journal");
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, result));
  clock_.AdvanceMs(29 * kDayMs);
  MustRun();
  EXPECT_TRUE(*blobs_->Contains(*result.journal));
  clock_.AdvanceMs(2 * kDayMs);
  EXPECT_EQ(MustRun().jobs_by_age, 1);
  EXPECT_FALSE(*blobs_->Contains(*result.journal));
}

TEST_F(RetentionTest, AResultThatIsFoundAgainStays) {
  const Job job = Ended("model");
  clock_.AdvanceMs(29 * kDayMs);
  EXPECT_EQ(MustSubmit(Request("model")).disposition, Disposition::kCacheHit);
  clock_.AdvanceMs(2 * kDayMs);
  EXPECT_EQ(MustRun().jobs_by_age, 0);
  EXPECT_TRUE(HasJob(job));
  EXPECT_TRUE(HasBlobs(job));
}

TEST_F(RetentionTest, WhatAJobNeedsStaysHoweverOldItIs) {
  const Job shared = Ended("shared");
  SubmitRequest again = Request("shared");
  again.skip_cache_lookup = true;
  const Job running = MustSubmit(again).job;
  MustClaim();
  const Job waiting = MustSubmit(Request("waiting")).job;
  clock_.AdvanceMs(400 * kDayMs);
  EXPECT_EQ(MustRun().jobs_by_age, 1);
  EXPECT_FALSE(HasJob(shared));
  EXPECT_TRUE(HasJob(waiting));
  EXPECT_TRUE(HasBlobs(waiting));
  EXPECT_TRUE(HasBlobs(running)) << "the model of the job that was removed is this one's, too";
  EXPECT_FALSE(*blobs_->Contains(shared.result->model));
}

TEST_F(RetentionTest, ABlobThatNoJobHasStaysForADayAfterItsLastUse) {
  const BlobId sent = MustPut("sent");
  clock_.AdvanceMs(23 * kHourMs);
  EXPECT_EQ(MustRun().blobs, 0);
  UseNow(sent);
  clock_.AdvanceMs(23 * kHourMs);
  EXPECT_EQ(MustRun().blobs, 0);
  clock_.AdvanceMs(2 * kHourMs);
  EXPECT_EQ(MustRun().blobs, 1);
  EXPECT_FALSE(*blobs_->Contains(sent));
}

TEST_F(RetentionTest, NothingIsTooOldWithoutALimit) {
  retention_.keep_ms = 0;
  const Job job = Ended("model");
  clock_.AdvanceMs(4000 * kDayMs);
  EXPECT_EQ(MustRun().jobs_by_age, 0);
  EXPECT_TRUE(HasBlobs(job));
}

TEST_F(RetentionTest, OfTooManyBytesTheResultsThatWereNotUsedForLongestGo) {
  const Job first = Ended("first: " + std::string(1000, 'x'));
  clock_.AdvanceMs(2 * kHourMs);
  const Job second = Ended("second: " + std::string(1000, 'x'));
  clock_.AdvanceMs(2 * kHourMs);
  const Job third = Ended("third: " + std::string(1000, 'x'));
  MustSubmit(Request("first: " + std::string(1000, 'x')));
  const Job waiting = MustSubmit(Request("waiting: " + std::string(1000, 'x'))).job;
  clock_.AdvanceMs(2 * kHourMs);
  retention_.max_bytes = 7000 + *store_->HeldBytes();
  const RetentionRound round = MustRun();
  EXPECT_EQ(round.jobs_for_space, 1);
  EXPECT_LE(round.held_bytes, 7000);
  EXPECT_EQ(round.row_bytes, *store_->HeldBytes());
  EXPECT_FALSE(HasJob(second)) << "the first was found again after that";
  EXPECT_TRUE(HasBlobs(first));
  EXPECT_TRUE(HasBlobs(third));
  retention_.max_bytes = 1;
  const RetentionRound last = MustRun();
  EXPECT_EQ(last.jobs_for_space, 2);
  EXPECT_TRUE(HasBlobs(waiting)) << "there is too much, but a job needs it";
  EXPECT_EQ(last.excess_bytes, last.held_bytes + *store_->HeldBytes() - 1);
}

TEST_F(RetentionTest, AResultStaysForAnHourEvenIfRoomIsShort) {
  const Job job = Ended("model");
  retention_.max_bytes = 1;
  clock_.AdvanceMs(kHourMs / 2);
  EXPECT_EQ(MustRun().jobs_for_space, 0);
  EXPECT_TRUE(HasBlobs(job));
  clock_.AdvanceMs(kHourMs);
  EXPECT_EQ(MustRun().jobs_for_space, 1);
}

TEST_F(RetentionTest, OnAFullDiskNoMoreGoesThanIsMissing) {
  const Job first = Ended("first: " + std::string(100'000, 'x'));
  clock_.AdvanceMs(kHourMs);
  const Job second = Ended("second");
  clock_.AdvanceMs(2 * kHourMs);
  EXPECT_FALSE(*Retention(retention_, ledger_.get(), blobs_.get(), &clock_).IsRoomShort());
  // Others take the rest of the disk, so that nothing which is removed here makes it less full.
  struct FullDisk : BlobInventory {
    explicit FullDisk(BlobInventory* all) : blobs(*all) {}
    absl::Status Visit(absl::FunctionRef<absl::Status(const HeldBlob&)> visit) override {
      return blobs.Visit(visit);
    }
    std::optional<int64_t> LastUseMs(const BlobId& id) const override {
      return blobs.LastUseMs(id);
    }
    absl::StatusOr<bool> RemoveUnused(const BlobId& id, int64_t unix_ms) override {
      return blobs.RemoveUnused(id, unix_ms);
    }
    absl::StatusOr<int64_t> FreeBytes() const override { return 0; }
    BlobInventory& blobs;
  };
  FullDisk full(blobs_.get());
  retention_.min_free_bytes = 50'000;
  Retention retention(retention_, ledger_.get(), &full, &clock_);
  EXPECT_TRUE(*retention.IsRoomShort());
  RetentionRound round;
  ASSERT_OK(retention.Run(&round));
  EXPECT_EQ(round.jobs_for_space, 1);
  EXPECT_FALSE(HasJob(first));
  EXPECT_TRUE(HasBlobs(second));
}

TEST_F(RetentionTest, IfRoomIsShortBlobsOfNoJobGoBeforeResults) {
  const Job job = Ended("model");
  const BlobId sent = MustPut("sent: " + std::string(1000, 'x'));
  clock_.AdvanceMs(2 * kHourMs);
  retention_.max_bytes = 500 + *store_->HeldBytes();
  const RetentionRound round = MustRun();
  EXPECT_FALSE(*blobs_->Contains(sent));
  EXPECT_EQ(round.jobs_for_space, 0);
  EXPECT_TRUE(HasBlobs(job));
}

// As after a copy of the data folder that made all files new.
TEST_F(RetentionTest, AJobWhoseFilesWereUsedJustNowStays) {
  const Job job = Ended("model");
  clock_.AdvanceMs(2 * kHourMs);
  for (const BlobId& blob : BlobsOf(job)) UseNow(blob);
  retention_.max_bytes = 1;
  EXPECT_EQ(MustRun().jobs_for_space, 0);
  EXPECT_TRUE(HasJob(job));
}

TEST_F(RetentionTest, JobsThatShareTheirFilesGoTogether) {
  const Job first = Ended("model");
  SubmitRequest again = Request("model");
  again.skip_cache_lookup = true;
  MustSubmit(again);
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, *first.result));
  clock_.AdvanceMs(2 * kHourMs);
  retention_.max_bytes = 1;
  EXPECT_EQ(MustRun().jobs_for_space, 2);
  EXPECT_FALSE(*blobs_->Contains(first.spec.model.graph));
}

TEST_F(RetentionTest, AJobWhoseRemovalFreesNothingStays) {
  const Job first = Ended("model");
  SubmitRequest again = Request("model");
  again.skip_cache_lookup = true;
  const std::string second = MustSubmit(again).job.id;
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, *first.result));
  clock_.AdvanceMs(2 * kHourMs);
  UseNow(first.spec.model.graph);
  UseNow(first.result->model);
  retention_.max_bytes = 1;
  EXPECT_EQ(MustRun().jobs_for_space, 0) << "its files were used just now";
  EXPECT_TRUE(HasJob(first));
  EXPECT_TRUE(HasJob(MustGet(second)));
}

// What a job needs is used all the time by others, and cannot go; its record can.
TEST_F(RetentionTest, ForRoomJobsWithoutAResultGoEvenIfThatFreesNoFile) {
  const Job done = Ended("model");
  SubmitRequest again = Request("model");
  again.skip_cache_lookup = true;
  const std::string cancelled = MustSubmit(again).job.id;
  ASSERT_OK(admission_->Cancel(cancelled, ""));
  clock_.AdvanceMs(2 * kHourMs);
  for (const BlobId& blob : BlobsOf(done)) UseNow(blob);
  const int64_t before = *store_->HeldBytes();
  retention_.max_bytes = before + 5 + 15 - 1;  // The files, and not quite the records.
  const RetentionRound round = MustRun();
  EXPECT_EQ(round.jobs_for_space, 1);
  EXPECT_EQ(round.excess_bytes, 0);
  EXPECT_FALSE(store_->Get(cancelled)->has_value());
  EXPECT_TRUE(HasJob(done));
}

TEST_F(RetentionTest, ForRoomJobsWithALargeRecordGoWithTheirResults) {
  const Job small = Ended("model");
  SubmitRequest large = Request("model");
  for (int i = 0; i < 20; ++i) {
    large.spec.model.external_files[std::string(4000, 'n') + std::to_string(i)] =
        large.spec.model.graph;
  }
  const std::string id = MustSubmit(large).job.id;
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, *small.result));
  clock_.AdvanceMs(2 * kHourMs);
  for (const BlobId& blob : BlobsOf(small)) UseNow(blob);
  retention_.max_bytes = *store_->HeldBytes();
  const RetentionRound round = MustRun();
  EXPECT_EQ(round.jobs_for_space, 1);
  EXPECT_FALSE(store_->Get(id)->has_value());
  EXPECT_TRUE(HasJob(small));
}

TEST_F(RetentionTest, AnExcessIsToldWhenItBeginsAndWhenItEnds) {
  const std::string id = MustSubmit(Request("waits")).job.id;
  RetentionLimits limits = retention_;
  limits.max_bytes = 3;
  Retention retention(limits, ledger_.get(), blobs_.get(), &clock_);
  const auto changed = [&] {
    RetentionRound round;
    EXPECT_OK(retention.Run(&round));
    return round.excess_changed;
  };
  EXPECT_TRUE(changed());
  EXPECT_FALSE(changed());
  ASSERT_OK(admission_->Cancel(id, ""));
  clock_.AdvanceMs(2 * kHourMs);
  EXPECT_TRUE(changed());
  EXPECT_FALSE(changed());
}

// A crash between the two leaves blobs of no job.
TEST_F(RetentionTest, WhatARemovedJobLeftIsFoundLater) {
  const Job job = Ended("model");
  ASSERT_OK(admission_->Delete(job.id, /*allow_missing=*/false));
  EXPECT_TRUE(HasBlobs(job));
  clock_.AdvanceMs(2 * kDayMs);
  EXPECT_GE(MustRun().blobs, 2);
  EXPECT_FALSE(HasBlobs(job));
}

}  // namespace
}  // namespace quotient::jobs
