// What uploads may take: time, places, room and what their clients may store.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "server/jobs/sent_blobs.h"
#include "tests/server/store/upload_store_fixture.h"
#include "tests/server/support/faulty_stores.h"
#include "tests/server/support/memory_job_store.h"

namespace quotient::store {
namespace {

using testing::HasReason;
using testing::StatusIs;

// Calls `meanwhile` once, while somebody asks what a client has.
class StoreWithACallMeanwhile : public testing::FaultyJobStore {
 public:
  explicit StoreWithACallMeanwhile(std::unique_ptr<jobs::JobStore> store)
      : FaultyJobStore(std::move(store), &none_) {}

  absl::StatusOr<int64_t> BytesOf(absl::string_view client) override {
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    return FaultyJobStore::BytesOf(client);
  }

  std::function<void()> meanwhile;

 private:
  testing::Fault none_;
};

class UploadLimitsTest : public UploadStoreTest {
 protected:
  void OpenWith(const UploadLimits& limits, jobs::SentBlobs* sent = nullptr) {
    auto uploads =
        DiskUploadStore::Open(dir_ / "uploads", blobs_.get(), limits, &hash_turns_, &clock_, sent);
    ASSERT_OK(uploads);
    uploads_ = *std::move(uploads);
  }

  // What counts blobs of no job in this job store.
  jobs::SentBlobs::Dependencies SentTo(jobs::JobStore& jobs) {
    return {.blobs = blobs_.get(), .inventory = blobs_.get(), .jobs = &jobs, .clock = &clock_};
  }
};

TEST_F(UploadLimitsTest, OldUploadsExpire) {
  const std::string id = MustStart("hello");
  ASSERT_OK(MustResume(id, 0)->Append("he"));
  ASSERT_OK(uploads_->Expire(0, INT64_MAX));
  EXPECT_OK(uploads_->CommittedOffset(id));
  ASSERT_OK(uploads_->Expire(INT64_MAX, 0));
  EXPECT_THAT(uploads_->CommittedOffset(id), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "uploads"));
}

TEST_F(UploadLimitsTest, OfWhatNothingEverCameExpiresSooner) {
  const std::string empty = MustStart("hello");
  const std::string begins = MustStart("world");
  const auto writer = MustResume(begins, 0);
  ASSERT_OK(uploads_->Expire(0, INT64_MAX));
  EXPECT_THAT(uploads_->CommittedOffset(empty), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_OK(uploads_->CommittedOffset(begins));
}

TEST_F(UploadLimitsTest, WhatIsReservedIsGivenBackAndSurvivesARestart) {
  const std::string first = MustStart("hello world"), second = MustStart("other");
  EXPECT_EQ(uploads_->Load().reserved_bytes, 16);
  {
    const auto writer = MustResume(first, 0);
    ASSERT_OK(writer->Append("hello "));
    ASSERT_OK(writer->Flush());
    EXPECT_EQ(uploads_->Load().reserved_bytes, 10);
  }
  Restart();
  EXPECT_EQ(uploads_->Load().reserved_bytes, 10);
  const auto writer = MustResume(first, 6);
  ASSERT_OK(writer->Append("world"));
  ASSERT_OK(writer->Finish());
  EXPECT_EQ(uploads_->Load().open, 1);
  EXPECT_THAT(MustResume(second, 0)->Finish(), HasReason(Reason::kBadDigest));
  EXPECT_EQ(uploads_->Load().open, 0);
}

TEST_F(UploadLimitsTest, WhatAClientSendsAndHasSentCountsForItsQuota) {
  const auto jobs = NewMemoryJobStore(&clock_);
  jobs::SentBlobs sent(SentTo(*jobs), /*max_bytes=*/10);
  OpenWith({}, &sent);
  const auto start = [&](absl::string_view content, absl::string_view client) {
    return uploads_->Start(BlobId::Of(content), client);
  };
  const std::string id = start("hello", "a")->upload_id;
  EXPECT_THAT(start("six...", "a"), HasReason(Reason::kQuotaBytes)) << "5 bytes may still come";
  const auto writer = MustResume(id, 0);
  ASSERT_OK(writer->Append("hello"));
  ASSERT_OK(writer->Finish());
  EXPECT_EQ(*jobs->BytesOf("a"), 5);
  EXPECT_THAT(start("six...", "a"), HasReason(Reason::kQuotaBytes)) << "5 bytes are there";
  EXPECT_OK(start("world", "a"));
  EXPECT_THAT(start("!", "a"), HasReason(Reason::kQuotaBytes));
  EXPECT_OK(start("!", "b"));
  EXPECT_TRUE(start("hello", "a")->done) << "what is there adds nothing";
}

TEST_F(UploadLimitsTest, WhatCannotBeCountedStaysAnUpload) {
  testing::Fault fault;
  testing::FaultyJobStore jobs(NewMemoryJobStore(&clock_), &fault);
  jobs::SentBlobs sent(SentTo(jobs), /*max_bytes=*/0);
  OpenWith({}, &sent);
  const std::string id = MustStart("hello");
  {
    const auto writer = MustResume(id, 0);
    ASSERT_OK(writer->Append("hello"));
    fault.Set(true);
    EXPECT_THAT(writer->Finish(), HasReason(Reason::kStorageDown));
    EXPECT_FALSE(Stored("hello"));
  }
  fault.Set(false);
  EXPECT_OK(MustResume(id, 5)->Finish());
  EXPECT_TRUE(Stored("hello"));
  EXPECT_EQ(*jobs.BytesOf("client"), 5);
}

TEST_F(UploadLimitsTest, AnUploadThatGivesWayLosesNothing) {
  OpenWith({.max_open = 2});
  const std::string first = MustStart("hello");
  clock_.AdvanceMs(1);
  const std::string second = MustStart("world");
  auto writer = MustResume(first, 0);
  ASSERT_OK(writer->Append("he"));
  clock_.AdvanceMs(1);
  const auto other_writer = MustResume(second, 0);
  ASSERT_OK_AND_ASSIGN(const auto other, uploads_->Start(BlobId::Of("other"), "other"));
  EXPECT_THAT(writer->Append("llo"), HasReason(Reason::kQueueFull));
  writer.reset();
  EXPECT_EQ(*uploads_->CommittedOffset(first), 2);
  EXPECT_THAT(uploads_->Resume(first, 2), HasReason(Reason::kQueueFull)) << "there is no place";
  EXPECT_THAT(MustResume(other.upload_id, 0)->Finish(), HasReason(Reason::kBadDigest));
  writer = MustResume(first, 2);
  ASSERT_OK(writer->Append("llo"));
  EXPECT_OK(writer->Finish());
  EXPECT_TRUE(Stored("hello"));
}

TEST_F(UploadLimitsTest, OfAnUploadThatIsGivenUpNothingIsLeft) {
  OpenWith({.max_open = 2});
  const std::string first = MustStart("hello");
  clock_.AdvanceMs(1);
  MustStart("world");
  ASSERT_OK(uploads_->Start(BlobId::Of("other"), "other"));
  EXPECT_THAT(uploads_->CommittedOffset(first), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_FALSE(std::filesystem::exists(dir_ / ("uploads/" + first + ".state")));
  EXPECT_EQ(uploads_->Load().open, 2);
}

TEST_F(UploadLimitsTest, AnInterruptedUploadDoesNotCountAgainstItself) {
  const auto jobs = NewMemoryJobStore(&clock_);
  jobs::SentBlobs sent(SentTo(*jobs), /*max_bytes=*/9);
  OpenWith({}, &sent);
  for (int i = 0; i < 3; ++i) EXPECT_OK(uploads_->Start(BlobId::Of("hello"), "a"));
  EXPECT_THAT(uploads_->Start(BlobId::Of("world"), "a"), HasReason(Reason::kQuotaBytes));
  EXPECT_OK(uploads_->Start(BlobId::Of("four"), "a")) << "what is sent more than once counts once";
}

TEST_F(UploadLimitsTest, UploadsThatAreBegunAtOnceDoNotPassTheQuotaTogether) {
  StoreWithACallMeanwhile jobs(NewMemoryJobStore(&clock_));
  jobs::SentBlobs sent(SentTo(jobs), /*max_bytes=*/9);
  OpenWith({}, &sent);
  jobs.meanwhile = [&] { EXPECT_OK(uploads_->Start(BlobId::Of("world"), "a")); };
  EXPECT_THAT(uploads_->Start(BlobId::Of("hello"), "a"), HasReason(Reason::kQuotaBytes));
  EXPECT_EQ(uploads_->Load().open, 1) << "nothing of it is left";
}

TEST_F(UploadLimitsTest, WhatAnEarlierProcessBeganIsOfItsClient) {
  MustStart("hello");
  OpenWith({.max_open_per_client = 1});
  EXPECT_THAT(uploads_->Start(BlobId::Of("world"), "client"), HasReason(Reason::kQuotaCalls));
  EXPECT_OK(uploads_->Start(BlobId::Of("world"), "other"));
}

TEST_F(UploadLimitsTest, UploadsAreNotTakenBeyondTheRoomThatIsThere) {
  const std::filesystem::space_info disk = std::filesystem::space(dir_ / "");
  const auto half = static_cast<int64_t>(disk.available / 10 * 6);
  blobs_ =
      *DiskBlobStore::Open(dir_ / "blobs", {.max_blob_bytes = INT64_MAX / 4, .min_free_bytes = 0});
  OpenWith({});
  EXPECT_OK(uploads_->Start({Digest::Of("a"), half}, "one"));
  EXPECT_THAT(uploads_->Start({Digest::Of("b"), half}, "two"), HasReason(Reason::kQueueFull));
  EXPECT_THAT(uploads_->Start({Digest::Of("c"), half}, "one"), HasReason(Reason::kQuotaCalls));
  EXPECT_THAT(uploads_->Start({Digest::Of("d"), 2 * half}, "two"),
              HasReason(Reason::kStorageDown, ::testing::HasSubstr("more are needed")));
}

}  // namespace
}  // namespace quotient::store
