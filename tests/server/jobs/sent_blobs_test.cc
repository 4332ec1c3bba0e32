#include "server/jobs/sent_blobs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "tests/server/support/faulty_stores.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::jobs {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::QueueTest;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kHourMs = 3'600'000;

// All that is to be written is taken, and then not committed while the fault is there.
class FailingCommits : public testing::FaultyJobStore {
 public:
  FailingCommits(std::unique_ptr<JobStore> store, testing::Fault* commit)
      : FaultyJobStore(std::move(store), &none_), commit_(*commit) {}

  absl::Status Write(WriteFunction write) override {
    return FaultyJobStore::Write([&](JobTransaction& transaction) -> absl::Status {
      QUOTIENT_RETURN_IF_ERROR(write(transaction));
      return commit_.Strike();
    });
  }

 private:
  testing::Fault none_;
  testing::Fault& commit_;
};

class SentBlobsTest : public QueueTest {
 protected:
  SentBlobsTest() {
    limits_ = {.max_bytes_per_client = 100'000};
    Restart();
  }

  // As if the blob had not been used for days.
  void MakeOld(const BlobId& id) {
    const timespec times[] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, blobs_->PathOf(id.digest).c_str(), times, 0), 0);
  }

  bool IsOld(const BlobId& id) { return *blobs_->LastUseMs(id) == 1'000'000; }

  // Whether asking for the blob keeps it.
  bool IsKept(const BlobId& id) {
    MakeOld(id);
    EXPECT_TRUE(*sent_->Use(id)) << "it is there in any case";
    return !IsOld(id);
  }
};

TEST_F(SentBlobsTest, AskingKeepsABlobForADayAfterItCame) {
  const BlobId id = MustPut("model");
  sent_->Arrived(id, "a");
  for (int hour = 0; hour < 24; ++hour) {
    EXPECT_TRUE(IsKept(id)) << hour;
    clock_.AdvanceMs(kHourMs);
  }
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(IsKept(id));
  EXPECT_FALSE(*sent_->Use(BlobId::Of("absent")));
}

TEST_F(SentBlobsTest, OfABlobThatWasThereBeforeTheDayBeginsWhenItIsAskedFor) {
  const BlobId id = MustPut("model");
  clock_.AdvanceMs(48 * kHourMs);
  EXPECT_TRUE(IsKept(id));
  clock_.AdvanceMs(24 * kHourMs);
  EXPECT_FALSE(IsKept(id));
}

TEST_F(SentBlobsTest, ABlobThatAJobHasIsKept) {
  const BlobId id = MustPut("model");
  sent_->Arrived(id, "a");
  clock_.AdvanceMs(48 * kHourMs);
  ASSERT_FALSE(IsKept(id));
  const std::string job = MustSubmit(Request("model")).job.id;
  EXPECT_TRUE(IsKept(id));
  ASSERT_OK(admission_->Cancel(job, ""));
  ASSERT_OK(admission_->Delete(job, false));
  EXPECT_TRUE(IsKept(id)) << "its day begins anew";
  clock_.AdvanceMs(24 * kHourMs);
  EXPECT_FALSE(IsKept(id));
}

TEST_F(SentBlobsTest, RequestsThatAreRefusedKeepNothing) {
  SubmitRequest request = Request("model");
  const BlobId id = request.spec.model.graph;
  MakeOld(id);
  no_device_ = MakeError(Reason::kDeviceNotPresent, "none");
  EXPECT_FALSE(admission_->Submit(request).ok());
  no_device_ = absl::OkStatus();
  room_ = MakeError(Reason::kStorageDown, "full");
  EXPECT_FALSE(admission_->Submit(request).ok());
  EXPECT_OK(admission_->Validate(request.spec));
  EXPECT_TRUE(IsOld(id));
  room_ = absl::OkStatus();
  MustSubmit(request);
  EXPECT_FALSE(IsOld(id));
}

TEST_F(SentBlobsTest, WhatAJobHasAlreadyCountsForNobody) {
  SubmitRequest request = Request("model");
  request.client = "b";
  MustSubmit(request);
  sent_->Arrived(request.spec.model.graph, "a");
  EXPECT_EQ(sent_->BytesOf("a", {}), 0);
}

TEST_F(SentBlobsTest, WhatWasSetAsideCountsForNobody) {
  const BlobId id = MustPut("model");
  sent_->Arrived(id, "a");
  std::filesystem::remove(blobs_->PathOf(id.digest));
  EXPECT_FALSE(*sent_->Use(id));
  EXPECT_EQ(sent_->BytesOf("a", {}), 0);
}

TEST_F(SentBlobsTest, WhatWasSentCountsUntilItsJobIsInTheStore) {
  testing::Fault commit;
  store_ = std::make_unique<FailingCommits>(std::move(store_), &commit);
  Restart();
  SubmitRequest request = Request("model");
  request.client = "a";
  sent_->Arrived(request.spec.model.graph, "a");
  commit.Set(true);
  EXPECT_THAT(admission_->Submit(request), HasReason(Reason::kStorageDown));
  EXPECT_EQ(sent_->BytesOf("a", {}), 5);
  commit.Set(false);
  MustSubmit(request);
  EXPECT_EQ(sent_->BytesOf("a", {}), 0);
}

TEST_F(SentBlobsTest, WhatWasSentCountsForItsClientUntilAJobHasItOrItIsGone) {
  const BlobId first = MustPut(std::string(60'000, 'x')),
               second = MustPut(std::string(30'000, 'y'));
  sent_->Arrived(first, "a");
  sent_->Arrived(second, "a");
  sent_->Arrived(second, "a");
  EXPECT_EQ(sent_->BytesOf("a", {}), 90'000);
  const BlobId both[] = {second, second};
  EXPECT_EQ(sent_->BytesOf("a", both), 60'000);
  EXPECT_EQ(sent_->BytesOf("b", {}), 0);
  EXPECT_OK(sent_->CheckQuota({Digest::Of("z"), 10'000}, "a", 0));
  EXPECT_THAT(
      sent_->CheckQuota({Digest::Of("z"), 10'000}, "a", 1),
      HasReason(Reason::kQuotaBytes, AllOf(HasSubstr("90000 that it has sent and no job has"),
                                           HasSubstr("limit is 100000"))));
  EXPECT_OK(sent_->CheckQuota({Digest::Of("z"), 100'000}, "b", 0));
  SubmitRequest request = Request(std::string(30'000, 'y'));
  request.client = "a";
  MustSubmit(request);
  EXPECT_EQ(sent_->BytesOf("a", {}), 60'000);
  SubmitRequest other = Request(std::string(20'000, 'z'));
  other.client = "a";
  EXPECT_THAT(admission_->Submit(other), HasReason(Reason::kQuotaBytes)) << "of 60,000 and 30,000";
  sent_->Forget(first);
  EXPECT_EQ(sent_->BytesOf("a", {}), 0);
  MustSubmit(other);
}

}  // namespace
}  // namespace quotient::jobs
