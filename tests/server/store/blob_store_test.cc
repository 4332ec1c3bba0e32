#include "server/store/disk/blob_store.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::store {
namespace {

using testing::HasReason;
using testing::StatusIs;
using testing::TempDir;

class BlobStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<DiskBlobStore> Open(const DiskLimits& limits = {.min_free_bytes = 0}) {
    auto store = DiskBlobStore::Open(dir_ / "blobs", limits);
    EXPECT_OK(store);
    return *std::move(store);
  }

  std::string OnlyFile() const {
    std::string found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "blobs")) {
      if (entry.is_regular_file()) {
        EXPECT_EQ(found, "");
        found = entry.path().string();
      }
    }
    return found;
  }

  TempDir dir_;
};

TEST_F(BlobStoreTest, WhatIsPutIsThereAfterReopening) {
  ASSERT_OK_AND_ASSIGN(const BlobId id, Open()->Put("hello"));
  EXPECT_EQ(id, BlobId::Of("hello"));
  const auto store = Open();
  ASSERT_OK_AND_ASSIGN(const bool present, store->Contains(id));
  EXPECT_TRUE(present);
  ASSERT_OK_AND_ASSIGN(const auto blob, store->Open(id));
  EXPECT_EQ(blob->bytes(), "hello");
}

TEST_F(BlobStoreTest, EqualBytesAreKeptOnce) {
  const auto store = Open();
  ASSERT_OK(store->Put("x"));
  ASSERT_OK(store->Put("x"));
  EXPECT_NE(OnlyFile(), "");
}

TEST_F(BlobStoreTest, TheEmptyBlobIsABlob) {
  const auto store = Open();
  ASSERT_OK_AND_ASSIGN(const BlobId id, store->Put(""));
  ASSERT_OK_AND_ASSIGN(const auto blob, store->Open(id));
  EXPECT_EQ(blob->bytes(), "");
}

TEST_F(BlobStoreTest, WhatACrashLeftIsCleanedUp) {
  Open();
  std::ofstream(dir_ / "blobs/incoming/half") << "hal";
  Open();
  EXPECT_EQ(OnlyFile(), "");
}

TEST_F(BlobStoreTest, AbsenceIsNotFound) {
  const auto store = Open();
  BlobId id = *store->Put("x");
  id.size_bytes = 2;  // a digest with a wrong size names nothing
  EXPECT_THAT(store->Open(id), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(BlobStoreTest, DamageIsNoticed) {
  const auto store = Open();
  ASSERT_OK_AND_ASSIGN(const BlobId id, store->Put("hello"));
  std::ofstream(OnlyFile()) << "jello";
  EXPECT_THAT(jobs::OpenVerified(*store, id), HasReason(Reason::kBlobCorrupt));
}

TEST_F(BlobStoreTest, LimitsHold) {
  EXPECT_THAT(Open({.max_blob_bytes = 3, .min_free_bytes = 0})->Put("four"),
              HasReason(Reason::kLimitBytes));
  EXPECT_THAT(Open({.min_free_bytes = int64_t{1} << 60})->Put("x"),
              HasReason(Reason::kStorageDown));
}

TEST_F(BlobStoreTest, AnOpenBlobOutlivesItsFile) {
  const auto store = Open();
  ASSERT_OK_AND_ASSIGN(const BlobId id, store->Put("hello"));
  ASSERT_OK_AND_ASSIGN(const auto blob, store->Open(id));
  std::filesystem::remove(OnlyFile());
  EXPECT_EQ(blob->bytes(), "hello");
}

}  // namespace
}  // namespace quotient::store
