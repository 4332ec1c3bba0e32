#include "server/store/disk/upload_store.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/store/upload_store_fixture.h"
#include "tests/server/support/made_blobs.h"

namespace quotient::store {
namespace {

using testing::HasReason;
using testing::StatusIs;

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

}  // namespace
}  // namespace quotient::store
