#include "server/store/disk/upload_store.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/store/disk/blob_store.h"
#include "tests/server/support/fake_clock.h"
#include "tests/server/support/faulty_stores.h"
#include "tests/server/support/made_blobs.h"
#include "tests/server/support/memory_job_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::store {
namespace {

using testing::HasReason;
using testing::StatusIs;
using testing::TempDir;

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

class UploadStoreTest : public ::testing::Test {
 protected:
  UploadStoreTest() { Restart(); }

  void Restart() {
    auto blobs = DiskBlobStore::Open(dir_ / "blobs", {.min_free_bytes = 0});
    ASSERT_OK(blobs);
    blobs_ = *std::move(blobs);
    auto uploads = DiskUploadStore::Open(dir_ / "uploads", blobs_.get(), {}, &hash_turns_, &clock_);
    ASSERT_OK(uploads);
    uploads_ = *std::move(uploads);
  }

  std::unique_ptr<jobs::UploadWriter> MustResume(const std::string& id, int64_t offset) {
    auto writer = uploads_->Resume(id, offset);
    EXPECT_OK(writer);
    return *std::move(writer);
  }

  std::string MustStart(absl::string_view content) {
    auto ticket = uploads_->Start(BlobId::Of(content), "client");
    EXPECT_OK(ticket);
    EXPECT_FALSE(ticket->done);
    return ticket->upload_id;
  }

  bool Stored(absl::string_view content) { return *blobs_->Contains(BlobId::Of(content)); }

  TempDir dir_;
  testing::FakeClock clock_;
  HashTurns hash_turns_{1};
  std::unique_ptr<DiskBlobStore> blobs_;
  std::unique_ptr<DiskUploadStore> uploads_;
};

// Whoever hashes waits until others have done so, and no longer.
TEST_F(UploadStoreTest, BytesAreHashedInTurn) {
  const std::string first = MustStart("hello"), second = MustStart("world");
  ASSERT_OK(MustResume(second, 0)->Append("world"));
  Restart();  // The second upload has to be hashed again when it is resumed.
  const auto writer = MustResume(first, 0);
  std::atomic<int> begun = 0, ended = 0;
  std::vector<std::jthread> hashing;
  {
    const auto turn = hash_turns_.Take();
    hashing.emplace_back([&] {
      ++begun;
      EXPECT_OK(writer->Append("hello"));
      ++ended;
    });
    hashing.emplace_back([&] {
      ++begun;
      EXPECT_OK(uploads_->Resume(second, 5));
      ++ended;
    });
    while (begun < 2) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    EXPECT_EQ(ended, 0);
  }
  hashing.clear();
  EXPECT_EQ(ended, 2);
}

TEST_F(UploadStoreTest, PiecesBecomeABlob) {
  const std::string id = MustStart("hello world");
  const auto writer = MustResume(id, 0);
  ASSERT_OK(writer->Append("hello "));
  ASSERT_OK(writer->Append("world"));
  ASSERT_OK(writer->Finish());
  EXPECT_TRUE(Stored("hello world"));
  EXPECT_THAT(uploads_->CommittedOffset(id), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK_AND_ASSIGN(const auto ticket, uploads_->Start(BlobId::Of("hello world"), "client"));
  EXPECT_TRUE(ticket.done);
}

TEST_F(UploadStoreTest, AnInterruptedUploadGoesOnAfterARestart) {
  const std::string id = MustStart("hello world");
  ASSERT_OK(MustResume(id, 0)->Append("hello "));
  Restart();
  ASSERT_OK_AND_ASSIGN(const int64_t offset, uploads_->CommittedOffset(id));
  EXPECT_EQ(offset, 6);
  const auto writer = MustResume(id, offset);
  ASSERT_OK(writer->Append("world"));
  ASSERT_OK(writer->Finish());
  EXPECT_TRUE(Stored("hello world"));
}

// The bytes are changed behind the store's back, which shows whether it reads them.
TEST_F(UploadStoreTest, AResumedUploadIsNotReadAgain) {
  const std::string id = MustStart("hello world");
  ASSERT_OK(MustResume(id, 0)->Append("hello "));
  std::ofstream(dir_ / ("uploads/" + id), std::ios::in | std::ios::out) << "HELLO ";
  const auto writer = MustResume(id, 6);
  ASSERT_OK(writer->Append("world"));
  EXPECT_OK(writer->Finish());
}

TEST_F(UploadStoreTest, BytesOfAnEarlierProcessAreReadAgain) {
  const std::string id = MustStart("hello world");
  ASSERT_OK(MustResume(id, 0)->Append("hello "));
  std::ofstream(dir_ / ("uploads/" + id), std::ios::in | std::ios::out) << "HELLO ";
  Restart();
  const auto writer = MustResume(id, 6);
  ASSERT_OK(writer->Append("world"));
  EXPECT_THAT(writer->Finish(), HasReason(Reason::kBadDigest));
}

TEST_F(UploadStoreTest, BytesThatWereNotAcknowledgedAreCutOff) {
  const std::string id = MustStart("hello world");
  ASSERT_OK(MustResume(id, 0)->Append("hello "));
  // What a crash may leave behind the durable mark.
  std::ofstream(dir_ / ("uploads/" + id), std::ios::app) << "garbage";
  const auto writer = MustResume(id, 6);
  ASSERT_OK(writer->Append("world"));
  EXPECT_OK(writer->Finish());
}

TEST_F(UploadStoreTest, ManyBytesAreMadeDurableOnTheWay) {
  const std::string content(DiskUploadStore::kCommitEveryBytes + 100, 'x');
  const std::string id = MustStart(content);
  const auto writer = MustResume(id, 0);
  ASSERT_OK(writer->Append(absl::string_view(content).substr(0, 100)));
  EXPECT_EQ(writer->committed_offset(), 0);
  ASSERT_OK(writer->Append(absl::string_view(content).substr(100)));
  EXPECT_EQ(writer->committed_offset(), static_cast<int64_t>(content.size()));
}

TEST_F(UploadStoreTest, ANewWriterTakesOver) {
  const std::string id = MustStart("hello");
  const auto old = MustResume(id, 0);
  ASSERT_OK(old->Append("he"));
  const auto current = MustResume(id, 0);
  EXPECT_THAT(old->Append("llo"), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(old->Finish(), StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK(current->Append("hello"));
  EXPECT_OK(current->Finish());
}

TEST_F(UploadStoreTest, AWrongOffsetIsRefused) {
  const std::string id = MustStart("hello");
  EXPECT_THAT(uploads_->Resume(id, 3), HasReason(Reason::kUploadOffset));
}

TEST_F(UploadStoreTest, WrongBytesAreRefusedAndForgotten) {
  const std::string id = MustStart("hello");
  const auto writer = MustResume(id, 0);
  ASSERT_OK(writer->Append("jello"));
  EXPECT_THAT(writer->Finish(), HasReason(Reason::kBadDigest));
  EXPECT_FALSE(Stored("hello"));
  EXPECT_FALSE(Stored("jello"));
  EXPECT_THAT(uploads_->CommittedOffset(id), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(UploadStoreTest, TooFewAndTooManyBytesAreRefused) {
  const auto few = MustResume(MustStart("hello"), 0);
  ASSERT_OK(few->Append("hell"));
  EXPECT_THAT(few->Finish(), HasReason(Reason::kBadDigest));
  const auto many = MustResume(MustStart("hello"), 0);
  EXPECT_THAT(many->Append("hello!"), HasReason(Reason::kLimitBytes));
}

TEST_F(UploadStoreTest, IdsAreNotPaths) {
  for (const char* id : {"", "..", "../blobs", "a/b", "ABC", "0123.state"}) {
    EXPECT_THAT(uploads_->Resume(id, 0), StatusIs(absl::StatusCode::kNotFound)) << id;
  }
}

TEST_F(UploadStoreTest, WhatWasDamagedOnTheDiskIsTakenAgain) {
  const BlobId id = *testing::PutBlob(*blobs_, "hello");
  std::ofstream(blobs_->PathOf(id.digest)) << "jello";
  Restart();
  const auto writer = MustResume(MustStart("hello"), 0);
  ASSERT_OK(writer->Append("hello"));
  ASSERT_OK(writer->Finish());
  EXPECT_OK(blobs_->Verify(id));
}

TEST_F(UploadStoreTest, OldUploadsExpire) {
  const std::string id = MustStart("hello");
  ASSERT_OK(MustResume(id, 0)->Append("he"));
  ASSERT_OK(uploads_->Expire(0, INT64_MAX));
  EXPECT_OK(uploads_->CommittedOffset(id));
  ASSERT_OK(uploads_->Expire(INT64_MAX, 0));
  EXPECT_THAT(uploads_->CommittedOffset(id), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "uploads"));
}

TEST_F(UploadStoreTest, OfWhatNothingEverCameExpiresSooner) {
  const std::string empty = MustStart("hello");
  const std::string begins = MustStart("world");
  const auto writer = MustResume(begins, 0);
  ASSERT_OK(uploads_->Expire(0, INT64_MAX));
  EXPECT_THAT(uploads_->CommittedOffset(empty), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_OK(uploads_->CommittedOffset(begins));
}

TEST_F(UploadStoreTest, WhatIsReservedIsGivenBackAndSurvivesARestart) {
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

TEST_F(UploadStoreTest, AnUploadOfAnOlderServerIsResumed) {
  const std::string id(20, 'a');
  std::ofstream(dir_ / ("uploads/" + id)) << "he";
  std::ofstream(dir_ / ("uploads/" + id + ".state"))
      << Digest::Of("hello").Hex() << "                    5                    2\n";
  Restart();
  EXPECT_EQ(uploads_->Load().reserved_bytes, 3);
  const auto writer = MustResume(id, 2);
  ASSERT_OK(writer->Append("llo"));
  EXPECT_OK(writer->Finish());
}

TEST_F(UploadStoreTest, AStateOfImpossibleNumbersIsNone) {
  const std::string id(20, 'a');
  for (const char* const committed : {"6", "-1", "9223372036854775807"}) {
    std::ofstream(dir_ / ("uploads/" + id)) << "hello";
    std::ofstream(dir_ / ("uploads/" + id + ".state"))
        << Digest::Of("hello").Hex() << " 5 " << committed << "\n";
    Restart();
    EXPECT_EQ(uploads_->Load().reserved_bytes, 0) << committed;
    EXPECT_THAT(uploads_->CommittedOffset(id), StatusIs(absl::StatusCode::kNotFound)) << committed;
  }
}

TEST_F(UploadStoreTest, WhatAClientSendsAndHasSentCountsForItsQuota) {
  const auto jobs = NewMemoryJobStore(&clock_);
  jobs::SentBlobs sent(blobs_.get(), jobs.get(), &clock_, /*max_bytes=*/10);
  uploads_ =
      *DiskUploadStore::Open(dir_ / "uploads", blobs_.get(), {}, &hash_turns_, &clock_, &sent);
  const auto start = [&](absl::string_view content, absl::string_view client) {
    return uploads_->Start(BlobId::Of(content), client);
  };
  const std::string id = start("hello", "a")->upload_id;
  EXPECT_THAT(start("six...", "a"), HasReason(Reason::kQuotaBytes)) << "5 bytes may still come";
  const auto writer = MustResume(id, 0);
  ASSERT_OK(writer->Append("hello"));
  ASSERT_OK(writer->Finish());
  EXPECT_EQ(sent.BytesOf("a", {}), 5);
  EXPECT_THAT(start("six...", "a"), HasReason(Reason::kQuotaBytes)) << "5 bytes are there";
  EXPECT_OK(start("world", "a"));
  EXPECT_THAT(start("!", "a"), HasReason(Reason::kQuotaBytes));
  EXPECT_OK(start("!", "b"));
  EXPECT_TRUE(start("hello", "a")->done) << "what is there adds nothing";
}

TEST_F(UploadStoreTest, AnInterruptedUploadDoesNotCountAgainstItself) {
  const auto jobs = NewMemoryJobStore(&clock_);
  jobs::SentBlobs sent(blobs_.get(), jobs.get(), &clock_, /*max_bytes=*/9);
  uploads_ =
      *DiskUploadStore::Open(dir_ / "uploads", blobs_.get(), {}, &hash_turns_, &clock_, &sent);
  for (int i = 0; i < 3; ++i) EXPECT_OK(uploads_->Start(BlobId::Of("hello"), "a"));
  EXPECT_THAT(uploads_->Start(BlobId::Of("world"), "a"), HasReason(Reason::kQuotaBytes));
  EXPECT_OK(uploads_->Start(BlobId::Of("four"), "a")) << "what is sent more than once counts once";
}

TEST_F(UploadStoreTest, UploadsThatAreBegunAtOnceDoNotPassTheQuotaTogether) {
  StoreWithACallMeanwhile jobs(NewMemoryJobStore(&clock_));
  jobs::SentBlobs sent(blobs_.get(), &jobs, &clock_, /*max_bytes=*/9);
  uploads_ =
      *DiskUploadStore::Open(dir_ / "uploads", blobs_.get(), {}, &hash_turns_, &clock_, &sent);
  jobs.meanwhile = [&] { EXPECT_OK(uploads_->Start(BlobId::Of("world"), "a")); };
  EXPECT_THAT(uploads_->Start(BlobId::Of("hello"), "a"), HasReason(Reason::kQuotaBytes));
  EXPECT_EQ(uploads_->Load().open, 1) << "nothing of it is left";
}

TEST_F(UploadStoreTest, WhatAnEarlierProcessBeganIsOfItsClient) {
  MustStart("hello");
  uploads_ = *DiskUploadStore::Open(dir_ / "uploads", blobs_.get(), {.max_open_per_client = 1},
                                    &hash_turns_, &clock_);
  EXPECT_THAT(uploads_->Start(BlobId::Of("world"), "client"), HasReason(Reason::kQuotaCalls));
  EXPECT_OK(uploads_->Start(BlobId::Of("world"), "other"));
}

TEST_F(UploadStoreTest, UploadsAreNotTakenBeyondTheRoomThatIsThere) {
  const std::filesystem::space_info disk = std::filesystem::space(dir_ / "");
  const auto half = static_cast<int64_t>(disk.available / 10 * 6);
  blobs_ =
      *DiskBlobStore::Open(dir_ / "blobs", {.max_blob_bytes = INT64_MAX / 4, .min_free_bytes = 0});
  uploads_ = *DiskUploadStore::Open(dir_ / "uploads", blobs_.get(), {}, &hash_turns_, &clock_);
  EXPECT_OK(uploads_->Start({Digest::Of("a"), half}, "one"));
  EXPECT_THAT(uploads_->Start({Digest::Of("b"), half}, "two"), HasReason(Reason::kQueueFull));
  EXPECT_THAT(uploads_->Start({Digest::Of("c"), half}, "one"), HasReason(Reason::kQuotaCalls));
  EXPECT_THAT(uploads_->Start({Digest::Of("d"), 2 * half}, "two"),
              HasReason(Reason::kStorageDown, ::testing::HasSubstr("more are needed")));
}

}  // namespace
}  // namespace quotient::store
