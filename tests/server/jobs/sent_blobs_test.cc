#include "server/jobs/sent_blobs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/support/bytes_of.h"
#include "tests/server/support/faulty_stores.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::jobs {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::PutBlob;
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

  // A client sends these bytes.
  BlobId Send(absl::string_view bytes, const std::string& client) {
    const BlobId id = BlobId::Of(bytes);
    EXPECT_OK(sent_->Store({&id, 1}, client, [&] { return PutBlob(*blobs_, bytes).status(); }));
    sent_->Arrived(id);
    return id;
  }

  SubmitRequest RequestOf(const std::string& client, absl::string_view model) {
    SubmitRequest request{.client = client};
    request.spec.model.graph = BlobId::Of(model);
    return request;
  }

  // Without what its jobs take besides their files, which is less than 2,000 each.
  int64_t BytesOf(const std::string& client) {
    return testing::BytesOf(*store_, client) / 2000 * 2000;
  }

  std::string MustEnd(const SubmitRequest& request) {
    std::string job = MustSubmit(request).job.id;
    EXPECT_OK(admission_->Cancel(job, ""));
    return job;
  }

  // As if the blob had not been used for so long, by the clock of the test.
  void MakeOld(const BlobId& id, int64_t ms = 48 * kHourMs) {
    const int64_t unix_ms = clock_.UnixMs() - ms;
    const timespec time{.tv_sec = unix_ms / 1000, .tv_nsec = unix_ms % 1000 * 1'000'000};
    const timespec times[] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, blobs_->PathOf(id.digest).c_str(), times, 0), 0);
    old_ms_ = unix_ms;
  }

  bool IsOld(const BlobId& id) { return *blobs_->LastUseMs(id) == old_ms_; }

  bool IsThere(const BlobId& id) { return *blobs_->Contains(id); }

  // Whether asking for the blob keeps it.
  bool IsKept(const BlobId& id) {
    MakeOld(id);
    EXPECT_TRUE(*sent_->Use(id)) << "it is there in any case";
    return !IsOld(id);
  }

  int64_t old_ms_ = 0;
};

TEST_F(SentBlobsTest, AskingKeepsABlobForADayAfterItCame) {
  const BlobId id = Send("model", "a");
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
  const BlobId id = Send("model", "a");
  clock_.AdvanceMs(48 * kHourMs);
  ASSERT_FALSE(IsKept(id));
  const std::string job = MustEnd(RequestOf("a", "model"));
  EXPECT_TRUE(IsKept(id));
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

TEST_F(SentBlobsTest, WhatAJobHasAlreadyCountsForNobodyElse) {
  Send(std::string(20'000, 'x'), "b");
  MustSubmit(RequestOf("b", std::string(20'000, 'x')));
  Send(std::string(20'000, 'x'), "a");
  EXPECT_EQ(BytesOf("a"), 0);
  EXPECT_EQ(BytesOf("b"), 20'000);
}

TEST_F(SentBlobsTest, WhatIsGoneCountsForNobody) {
  const BlobId damaged = Send(std::string(20'000, 'x'), "a"), kept = Send("kept", "a");
  std::filesystem::remove(blobs_->PathOf(damaged.digest));
  ASSERT_OK(sent_->DiscountGone());
  EXPECT_EQ(testing::BytesOf(*store_, "a"), 4);
  EXPECT_EQ(*store_->Loose(std::nullopt, 10), std::vector<BlobId>{kept});
}

// As at each point where a process may end while a blob comes.
TEST_F(SentBlobsTest, ABlobCountsFromBeforeItIsThere) {
  const BlobId id = BlobId::Of("model");
  ASSERT_OK(sent_->Store({&id, 1}, "a", [&]() -> absl::Status {
    EXPECT_EQ(testing::BytesOf(*store_, "a"), 5);
    EXPECT_OK(sent_->DiscountGone());
    EXPECT_EQ(testing::BytesOf(*store_, "a"), 5) << "it is about to come";
    return PutBlob(*blobs_, "model").status();
  }));
  EXPECT_EQ(testing::BytesOf(*store_, "a"), 5);
}

TEST_F(SentBlobsTest, ABlobThatDoesNotComeCountsForNobody) {
  const BlobId ids[] = {BlobId::Of("model"), BlobId::Of("weights")};
  const absl::Status failure = MakeError(Reason::kStorageDown, "full");
  EXPECT_EQ(sent_->Store(ids, "a",
                         [&] {
                           EXPECT_OK(PutBlob(*blobs_, "model"));
                           return failure;
                         }),
            failure);
  EXPECT_EQ(testing::BytesOf(*store_, "a"), 5) << "the other one is there";
}

TEST_F(SentBlobsTest, NothingIsStoredThatCannotBeCounted) {
  testing::Fault write;
  store_ = std::make_unique<testing::FaultyJobStore>(std::move(store_), &write);
  Restart();
  write.Set(true);
  const BlobId id = BlobId::Of("model");
  EXPECT_THAT(sent_->Store({&id, 1}, "a", [] { return absl::InternalError("was called"); }),
              HasReason(Reason::kStorageDown));
}

TEST_F(SentBlobsTest, WhatWasSentCountsUntilItsJobIsInTheStore) {
  testing::Fault commit;
  store_ = std::make_unique<FailingCommits>(std::move(store_), &commit);
  Restart();
  Send(std::string(20'000, 'x'), "a");
  const SubmitRequest request = RequestOf("b", std::string(20'000, 'x'));
  commit.Set(true);
  EXPECT_THAT(admission_->Submit(request), HasReason(Reason::kStorageDown));
  commit.Set(false);
  EXPECT_EQ(BytesOf("a"), 20'000);
  MustSubmit(request);
  EXPECT_EQ(BytesOf("a"), 0);
  EXPECT_EQ(BytesOf("b"), 20'000);
}

TEST_F(SentBlobsTest, WhatAClientHasSentAndIsSendingCountsForItsQuota) {
  sent_->SetInTransit([](absl::string_view client, std::span<const BlobId> except) -> int64_t {
    EXPECT_EQ(except.size(), 1);
    return client == "a" ? 20'000 : 0;
  });
  Send(std::string(60'000, 'x'), "a");
  EXPECT_OK(sent_->CheckQuota({Digest::Of("z"), 20'000}, "a"));
  EXPECT_THAT(
      sent_->CheckQuota({Digest::Of("z"), 20'001}, "a"),
      HasReason(Reason::kQuotaBytes,
                AllOf(HasSubstr("has 60000 bytes"), HasSubstr("20000 that it is sending"),
                      HasSubstr("this file would add 20001"), HasSubstr("limit is 100000"))));
  EXPECT_OK(sent_->CheckQuota({Digest::Of("z"), 100'000}, "b"));
  MustPut(std::string(30'000, 'y'));
  EXPECT_THAT(admission_->Submit(RequestOf("a", std::string(30'000, 'y'))),
              HasReason(Reason::kQuotaBytes));
  MustSubmit(RequestOf("b", std::string(30'000, 'y')));
  MustSubmit(RequestOf("a", std::string(60'000, 'x')));
}

// Submit, cancel and delete, again and again.
TEST_F(SentBlobsTest, WhatADeletedJobLeavesCountsUntilItIsGone) {
  const BlobId id = Send(std::string(60'000, 'x'), "a");
  const std::string job = MustEnd(RequestOf("a", std::string(60'000, 'x')));
  MakeOld(id, SentBlobs::kLeftMs - 1);
  ASSERT_OK(admission_->Delete(job, false));
  EXPECT_TRUE(IsThere(id)) << "somebody may be about to refer to it";
  EXPECT_EQ(BytesOf("a"), 60'000);
  EXPECT_THAT(sent_->CheckQuota({Digest::Of("z"), 60'000}, "a"), HasReason(Reason::kQuotaBytes));
  sent_->RemoveLeft();
  EXPECT_TRUE(IsThere(id));
  MakeOld(id, SentBlobs::kLeftMs + 1);
  sent_->RemoveLeft();
  EXPECT_FALSE(IsThere(id));
  EXPECT_EQ(BytesOf("a"), 0);
}

TEST_F(SentBlobsTest, WhatNobodyHasUsedLatelyGoesWithItsJob) {
  const BlobId model = Send(std::string(40'000, 'x'), "a");
  const std::string job = MustSubmit(RequestOf("a", std::string(40'000, 'x'))).job.id;
  const JobResult result = SomeResult();
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, result));
  for (const BlobId& id : {model, result.model}) MakeOld(id, SentBlobs::kLeftMs + 1);
  ASSERT_OK(admission_->Delete(job, false));
  EXPECT_FALSE(IsThere(model));
  EXPECT_FALSE(IsThere(result.model));
  EXPECT_EQ(testing::BytesOf(*store_, "a"), 0);
}

TEST_F(SentBlobsTest, WhatAnotherJobHasStaysAndIsLeftByThatOne) {
  const BlobId id = Send(std::string(40'000, 'x'), "a");
  SubmitRequest request = RequestOf("a", std::string(40'000, 'x'));
  const std::string first = MustEnd(request);
  request.client = "b";
  request.spec.options.seed = 7;
  const std::string second = MustEnd(request);
  MakeOld(id, SentBlobs::kLeftMs - 1);
  ASSERT_OK(admission_->Delete(first, false));
  EXPECT_EQ(BytesOf("a"), 0);
  EXPECT_EQ(BytesOf("b"), 40'000);
  MakeOld(id);
  sent_->RemoveLeft();
  EXPECT_TRUE(IsThere(id));
  ASSERT_OK(admission_->Delete(second, false));
  EXPECT_FALSE(IsThere(id));
  EXPECT_EQ(BytesOf("b"), 0);
}

TEST_F(SentBlobsTest, WhatCountsOutlivesTheProcess) {
  const BlobId id = Send(std::string(40'000, 'x'), "a");
  const std::string job = MustEnd(RequestOf("a", std::string(40'000, 'x')));
  ASSERT_OK(admission_->Delete(job, false));
  Restart();
  EXPECT_EQ(BytesOf("a"), 40'000);
  std::filesystem::remove(blobs_->PathOf(id.digest));
  ASSERT_OK(sent_->DiscountGone());
  EXPECT_EQ(BytesOf("a"), 0);
}

}  // namespace
}  // namespace quotient::jobs
