#include "server/store/disk/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/base/reason.h"
#include "server/store/disk/blob_store.h"
#include "tests/server/support/made_blobs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::store {
namespace {

using ::testing::ElementsAre;
using testing::HasReason;
using testing::PutBlob;
using testing::StatusIs;
using testing::TempDir;

class OutboxTest : public ::testing::Test {
 protected:
  OutboxTest() {
    auto store = DiskBlobStore::Open(dir_ / "blobs", {.min_free_bytes = 0});
    EXPECT_OK(store);
    store_ = *std::move(store);
    folder_ = store_->incoming() + "/job-1";
    std::filesystem::create_directory(folder_);
    outbox_ = std::make_unique<Outbox>(dir_ / "blobs", folder_, DiskLimits{.min_free_bytes = 0},
                                       [this](const BlobId& id) { damaged_.push_back(id); });
  }

  // What somebody has put into the folder who was turned against the server.
  std::string FileOf(const BlobId& id) const { return folder_ + "/" + id.digest.Hex(); }
  void Forge(const BlobId& id, const std::string& bytes) const {
    std::ofstream(FileOf(id)) << bytes;
  }

  TempDir dir_;
  std::unique_ptr<DiskBlobStore> store_;
  std::string folder_;
  std::unique_ptr<Outbox> outbox_;
  std::vector<BlobId> damaged_;
};

TEST_F(OutboxTest, WhatIsPutIsInTheStoreWhenItWasTaken) {
  ASSERT_OK_AND_ASSIGN(const BlobId id, outbox_->Put("made"));
  EXPECT_FALSE(*store_->Contains(id));
  ASSERT_OK(store_->Take(folder_, id));
  ASSERT_OK_AND_ASSIGN(const auto blob, store_->Open(id));
  EXPECT_EQ(blob->bytes(), "made");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  EXPECT_OK(store_->Take(folder_, id)) << "it is there";
}

TEST_F(OutboxTest, WhatWasReadAndIsPutNeedsNoFile) {
  const BlobId id = *PutBlob(*store_, "model");
  ASSERT_OK_AND_ASSIGN(const auto model, outbox_->Open(id));
  EXPECT_EQ(*outbox_->Put(model->bytes()), id);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  EXPECT_OK(store_->Take(folder_, id));
}

TEST_F(OutboxTest, WhatIsDamagedIsToldAndStays) {
  const BlobId id = *PutBlob(*store_, "model");
  std::ofstream(store_->PathOf(id.digest)) << "nodel";
  EXPECT_THAT(outbox_->Open(id), HasReason(Reason::kBlobCorrupt));
  EXPECT_THAT(damaged_, ElementsAre(id));
  EXPECT_TRUE(*store_->Contains(id)) << "to set it aside is the store's";
}

TEST_F(OutboxTest, LimitsHold) {
  Outbox outbox(dir_ / "blobs", folder_, {.max_blob_bytes = 3, .min_free_bytes = 0}, [](auto&) {});
  EXPECT_THAT(outbox.Put("four"), HasReason(Reason::kLimitBytes));
}

TEST_F(OutboxTest, OnlyTheBytesOfTheDigestAreTaken) {
  const BlobId id = BlobId::Of("right");
  EXPECT_THAT(store_->Take(folder_, id), StatusIs(absl::StatusCode::kNotFound));
  Forge(id, "wrong");
  EXPECT_THAT(store_->Take(folder_, id), HasReason(Reason::kBlobCorrupt));
  Forge(id, "longer than right");
  EXPECT_THAT(store_->Take(folder_, id), HasReason(Reason::kBlobCorrupt));
  EXPECT_FALSE(*store_->Contains(id));
}

TEST_F(OutboxTest, ABlobOfTheStoreIsNotReplaced) {
  const BlobId id = *PutBlob(*store_, "right");
  Forge(id, "wrong");
  EXPECT_OK(store_->Take(folder_, id));
  ASSERT_OK_AND_ASSIGN(const auto blob, store_->Open(id));
  EXPECT_EQ(blob->bytes(), "right");
}

TEST_F(OutboxTest, OnlyPlainFilesAreTaken) {
  const BlobId id = BlobId::Of("right");
  const std::string elsewhere = dir_ / "elsewhere";
  std::ofstream(elsewhere) << "right";
  ASSERT_EQ(symlink(elsewhere.c_str(), FileOf(id).c_str()), 0);
  EXPECT_THAT(store_->Take(folder_, id), HasReason(Reason::kBlobCorrupt));
  std::filesystem::remove(FileOf(id));
  ASSERT_EQ(link(elsewhere.c_str(), FileOf(id).c_str()), 0);
  EXPECT_THAT(store_->Take(folder_, id), HasReason(Reason::kBlobCorrupt))
      << "whoever has the other name could change it";
  std::filesystem::remove(FileOf(id));
  ASSERT_EQ(mkfifo(FileOf(id).c_str(), 0600), 0);
  EXPECT_THAT(store_->Take(folder_, id), HasReason(Reason::kBlobCorrupt));
}

}  // namespace
}  // namespace quotient::store
