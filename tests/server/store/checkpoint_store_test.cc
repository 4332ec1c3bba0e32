#include "server/store/disk/checkpoint_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::store {
namespace {

using testing::HasReason;
using ::testing::IsEmpty;
using testing::StatusIs;
using testing::TempDir;
using ::testing::UnorderedElementsAre;

class CheckpointStoreTest : public ::testing::Test {
 protected:
  CheckpointStoreTest() { Restart(); }

  void Restart(int64_t min_free_bytes = 0) {
    auto blobs = DiskBlobStore::Open(dir_ / "blobs", {.min_free_bytes = min_free_bytes});
    ASSERT_OK(blobs);
    blobs_ = *std::move(blobs);
    auto store = DiskCheckpointStore::Open(dir_ / "checkpoints", blobs_.get());
    ASSERT_OK(store);
    store_ = *std::move(store);
  }
  void MustPut(const std::string& id, absl::string_view bytes) {
    ASSERT_OK_AND_ASSIGN(const auto staged, store_->Stage(id, bytes));
    ASSERT_OK(staged->Commit());
  }
  size_t NumFiles() const {
    const std::filesystem::directory_iterator files(dir_ / "checkpoints");
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  TempDir dir_;
  std::unique_ptr<DiskBlobStore> blobs_;
  std::unique_ptr<DiskCheckpointStore> store_;
};

TEST_F(CheckpointStoreTest, KeepsTheLastOfEachJob) {
  MustPut("a1", "first");
  MustPut("b2", "other");
  MustPut("a1", "second");
  Restart();
  EXPECT_EQ(*store_->Get("a1"), "second");
  EXPECT_EQ(*store_->Get("b2"), "other");
  EXPECT_THAT(*store_->List(), UnorderedElementsAre("a1", "b2"));
  ASSERT_OK(store_->Remove("a1"));
  ASSERT_OK(store_->Remove("a1"));
  EXPECT_THAT(store_->Get("a1"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(*store_->List(), UnorderedElementsAre("b2"));
}

TEST_F(CheckpointStoreTest, WhatIsNotCommittedChangesNothing) {
  MustPut("a", "first");
  { ASSERT_OK_AND_ASSIGN(const auto dropped, store_->Stage("a", "second")); }
  EXPECT_EQ(*store_->Get("a"), "first");
  EXPECT_EQ(NumFiles(), 1u);
}

TEST_F(CheckpointStoreTest, WhatACrashLeavesHalfWrittenIsRemoved) {
  MustPut("a", "first");
  std::ofstream(dir_ / "checkpoints/a.0123.tmp") << "sec";
  Restart();
  EXPECT_EQ(NumFiles(), 1u);
  EXPECT_EQ(*store_->Get("a"), "first");
}

TEST_F(CheckpointStoreTest, AnIdIsNoPath) {
  for (const char* id : {"", ".", "..", "../blobs", "a/b", "a.tmp"}) {
    EXPECT_THAT(store_->Stage(id, "x"), StatusIs(absl::StatusCode::kNotFound)) << id;
    EXPECT_THAT(store_->Get(id), StatusIs(absl::StatusCode::kNotFound)) << id;
    EXPECT_THAT(store_->Remove(id), StatusIs(absl::StatusCode::kNotFound)) << id;
  }
}

TEST_F(CheckpointStoreTest, AFullDiskTakesNone) {
  Restart(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(store_->Stage("a", "x"), HasReason(Reason::kStorageDown));
  EXPECT_THAT(*store_->List(), IsEmpty());
}

}  // namespace
}  // namespace quotient::store
