#include "server/store/disk/blob_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "server/store/disk/blob_scrubber.h"
#include "tests/server/support/made_blobs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::store {
namespace {

using testing::HasReason;
using ::testing::HasSubstr;
using testing::PutBlob;
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

  // As a disk does: other bytes, and nothing else tells.
  void Damage(const BlobId& id) {
    const std::string hex = id.digest.Hex();
    std::ofstream file(dir_ / ("blobs/" + hex.substr(0, 2) + "/" + hex.substr(2, 2) + "/" + hex),
                       std::ios::in | std::ios::out);
    ASSERT_TRUE(file.good());
    file.put('!');
  }

  TempDir dir_;
};

TEST_F(BlobStoreTest, DamageIsFoundAtTheFirstReadAfterARestart) {
  const BlobId id = *PutBlob(*Open(), "hello");
  Damage(id);
  const auto store = Open();
  EXPECT_TRUE(*store->Contains(id));
  EXPECT_THAT(store->Open(id), HasReason(Reason::kBlobCorrupt));
  EXPECT_FALSE(*store->Contains(id));
  EXPECT_THAT(store->Open(id), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(BlobStoreTest, ADamagedBlobCanBeStoredAnew) {
  const BlobId id = *PutBlob(*Open(), "hello");
  Damage(id);
  const auto store = Open();
  ASSERT_OK(PutBlob(*store, "hello"));
  ASSERT_OK_AND_ASSIGN(const auto blob, store->Open(id));
  EXPECT_EQ(blob->bytes(), "hello");
}

TEST_F(BlobStoreTest, WhatIsDamagedIsKeptAsideForAWhile) {
  int damaged = 0;
  auto opened = DiskBlobStore::Open(dir_ / "blobs", {.min_free_bytes = 0}, [&] { ++damaged; });
  ASSERT_OK(opened);
  DiskBlobStore& store = **opened;
  const BlobId id = *PutBlob(store, "hello");
  Damage(id);
  EXPECT_THAT(store.Verify(id), HasReason(Reason::kBlobCorrupt));
  EXPECT_EQ(damaged, 1);
  EXPECT_THAT(OnlyFile(), HasSubstr("/damaged/" + id.digest.Hex()));
  store.RemoveDamaged(0);
  EXPECT_NE(OnlyFile(), "");
  store.RemoveDamaged(INT64_MAX);
  EXPECT_EQ(OnlyFile(), "");
}

// Somebody may read the damaged file while another one replaces it.
TEST_F(BlobStoreTest, WhatWasStoredAnewMeanwhileIsNotSetAside) {
  const auto store = Open();
  const BlobId id = *PutBlob(*store, "hello");
  Damage(id);
  ASSERT_OK_AND_ASSIGN(const os::Fd late, os::OpenFile(store->PathOf(id.digest), O_RDONLY));
  EXPECT_THAT(store->Verify(id), HasReason(Reason::kBlobCorrupt));
  ASSERT_OK(PutBlob(*store, "hello"));
  store->SetAside(id.digest, late);
  EXPECT_OK(store->Verify(id));
}

TEST_F(BlobStoreTest, WhatTheDiskCannotReadIsNoCrash) {
  const auto store = Open();
  const BlobId id = *PutBlob(*store, std::string(1 << 20, 'x'));
  ASSERT_OK_AND_ASSIGN(const auto blob, store->Open(id));
  std::filesystem::resize_file(store->PathOf(id.digest), 1 << 16);
  EXPECT_EQ(blob->bytes().front(), 'x');
  EXPECT_FALSE(blob->damaged());
  EXPECT_EQ(blob->bytes().back(), '\0');
  EXPECT_TRUE(blob->damaged());
}

TEST_F(BlobStoreTest, TheScrubberFindsDamageInAnyBlob) {
  for (const int victim : {0, 7, 19}) {
    const auto store = Open();
    BlobScrubber scrubber(store.get());
    std::vector<BlobId> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(*PutBlob(*store, std::string(300'000, 'a' + i)));
    Damage(ids[victim]);
    // In steps that are shorter than a blob.
    for (int i = 0; i < 20 * 8; ++i) scrubber.Step(100'000);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(*store->Contains(ids[i]), i != victim) << i;
  }
}

TEST_F(BlobStoreTest, TheScrubberBeginsAgainAfterTheLastBlob) {
  const auto store = Open();
  BlobScrubber scrubber(store.get());
  scrubber.Step(1 << 20);  // There is nothing.
  const BlobId id = *PutBlob(*store, "hello");
  for (int i = 0; i < 3; ++i) scrubber.Step(1 << 20);
  Damage(id);
  for (int i = 0; i < 3; ++i) scrubber.Step(1 << 20);
  EXPECT_FALSE(*store->Contains(id));
}

TEST_F(BlobStoreTest, WhatIsPutIsThereAfterReopening) {
  ASSERT_OK_AND_ASSIGN(const BlobId id, PutBlob(*Open(), "hello"));
  EXPECT_EQ(id, BlobId::Of("hello"));
  const auto store = Open();
  ASSERT_OK_AND_ASSIGN(const bool present, store->Contains(id));
  EXPECT_TRUE(present);
  ASSERT_OK_AND_ASSIGN(const auto blob, store->Open(id));
  EXPECT_EQ(blob->bytes(), "hello");
}

TEST_F(BlobStoreTest, EqualBytesAreKeptOnce) {
  const auto store = Open();
  ASSERT_OK(PutBlob(*store, "x"));
  ASSERT_OK(PutBlob(*store, "x"));
  EXPECT_NE(OnlyFile(), "");
}

TEST_F(BlobStoreTest, TheEmptyBlobIsABlob) {
  const auto store = Open();
  ASSERT_OK_AND_ASSIGN(const BlobId id, PutBlob(*store, ""));
  ASSERT_OK_AND_ASSIGN(const auto blob, store->Open(id));
  EXPECT_EQ(blob->bytes(), "");
}

TEST_F(BlobStoreTest, WhatACrashLeftIsCleanedUp) {
  Open();
  std::ofstream(dir_ / "blobs/incoming/half") << "hal";
  std::filesystem::create_directory(dir_ / "blobs/incoming/job-1");
  std::ofstream(dir_ / "blobs/incoming/job-1/half") << "hal";
  Open();
  EXPECT_EQ(OnlyFile(), "");
}

TEST_F(BlobStoreTest, AbsenceIsNotFound) {
  const auto store = Open();
  BlobId id = *PutBlob(*store, "x");
  id.size_bytes = 2;  // a digest with a wrong size names nothing
  EXPECT_THAT(store->Open(id), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(BlobStoreTest, DamageIsNoticed) {
  const auto store = Open();
  ASSERT_OK_AND_ASSIGN(const BlobId id, PutBlob(*store, "hello"));
  std::ofstream(OnlyFile()) << "jello";
  EXPECT_THAT(jobs::OpenVerified(*store, id), HasReason(Reason::kBlobCorrupt));
}

TEST_F(BlobStoreTest, LimitsHold) {
  EXPECT_THAT(Open({.max_blob_bytes = 3, .min_free_bytes = 0})->CheckRoom(4),
              HasReason(Reason::kLimitBytes));
  EXPECT_THAT(PutBlob(*Open({.min_free_bytes = int64_t{1} << 60}), "x"),
              HasReason(Reason::kStorageDown));
}

TEST_F(BlobStoreTest, AnOpenBlobOutlivesItsFile) {
  const auto store = Open();
  ASSERT_OK_AND_ASSIGN(const BlobId id, PutBlob(*store, "hello"));
  ASSERT_OK_AND_ASSIGN(const auto blob, store->Open(id));
  std::filesystem::remove(OnlyFile());
  EXPECT_EQ(blob->bytes(), "hello");
}

// Half an hour after and before now.
int64_t Later() { return Clock::System().UnixMs() + 1'800'000; }
int64_t Before() { return Clock::System().UnixMs() - 1'800'000; }

TEST_F(BlobStoreTest, OnlyAnUnusedBlobIsRemoved) {
  const auto store = Open();
  const BlobId id = *PutBlob(*store, "hello");
  EXPECT_FALSE(*store->RemoveUnused(id, Before()));
  EXPECT_TRUE(*store->Contains(id));
  EXPECT_TRUE(*store->RemoveUnused(id, Later()));
  EXPECT_FALSE(*store->Contains(id));
  EXPECT_FALSE(*store->RemoveUnused(id, Later()));
  EXPECT_EQ(OnlyFile(), "");
  ASSERT_OK(PutBlob(*store, "hello"));
  EXPECT_OK(store->Verify(id));
}

TEST_F(BlobStoreTest, UsingAndStoringABlobAgainMakesItNew) {
  const auto store = Open();
  const BlobId id = *PutBlob(*store, "hello");
  const auto age = [&] {
    const timespec old[] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    ASSERT_EQ(utimensat(AT_FDCWD, store->PathOf(id.digest).c_str(), old, 0), 0);
  };
  age();
  EXPECT_TRUE(*store->Use(id));
  EXPECT_FALSE(*store->RemoveUnused(id, Before()));
  age();
  ASSERT_OK(PutBlob(*store, "hello"));
  EXPECT_FALSE(*store->RemoveUnused(id, Before()));
  EXPECT_FALSE(*store->Use(BlobId::Of("absent")));
}

TEST_F(BlobStoreTest, AReaderKeepsABlobThatIsRemoved) {
  const auto store = Open();
  const BlobId id = *PutBlob(*store, "hello");
  ASSERT_OK_AND_ASSIGN(const auto blob, store->Open(id));
  EXPECT_TRUE(*store->RemoveUnused(id, Later()));
  EXPECT_EQ(blob->bytes(), "hello");
}

TEST_F(BlobStoreTest, AllBlobsAreVisited) {
  const auto store = Open();
  std::vector<BlobId> stored = {*PutBlob(*store, "a"), *PutBlob(*store, "b"), *PutBlob(*store, "")};
  std::vector<BlobId> seen;
  ASSERT_OK(store->Visit([&](const jobs::HeldBlob& blob) {
    EXPECT_GT(blob.use_ms, Before());
    EXPECT_LT(blob.use_ms, Later());
    seen.push_back(blob.id);
    return absl::OkStatus();
  }));
  EXPECT_THAT(seen, ::testing::UnorderedElementsAreArray(stored));
}

// Somebody uses an old blob while it is being removed: if it was said to be there, it stays.
TEST_F(BlobStoreTest, WhatIsUsedMeanwhileIsNotRemoved) {
  const auto store = Open();
  int used = 0;
  for (int i = 0; i < 300; ++i) {
    const BlobId id = *PutBlob(*store, "hello");
    const timespec past[] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    ASSERT_EQ(utimensat(AT_FDCWD, store->PathOf(id.digest).c_str(), past, 0), 0);
    std::thread remover([&] { EXPECT_OK(store->RemoveUnused(id, Before())); });
    const bool is_there = *store->Use(id);
    remover.join();
    if (is_there) {
      EXPECT_TRUE(*store->Contains(id)) << "round " << i;
    }
    used += static_cast<int>(is_there);
  }
  EXPECT_GT(used, 0);
}

TEST_F(BlobStoreTest, WhatACrashTookAwayIsPutBack) {
  const BlobId id = *PutBlob(*Open(), "hello");
  const std::string path = Open()->PathOf(id.digest);
  std::filesystem::rename(path, dir_ / ("blobs/incoming/removed." + id.digest.Hex()));
  std::ofstream(dir_ / "blobs/incoming/removed.nonsense") << "x";
  const auto store = Open();
  EXPECT_OK(store->Verify(id));
  EXPECT_EQ(OnlyFile(), path);
}

}  // namespace
}  // namespace quotient::store
