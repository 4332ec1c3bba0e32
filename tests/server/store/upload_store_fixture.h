#pragma once

// Uploads in a folder, and the blobs that they become.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "server/store/disk/blob_store.h"
#include "server/store/disk/hash_turns.h"
#include "server/store/disk/upload_store.h"
#include "tests/server/support/fake_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::store {

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

  testing::TempDir dir_;
  testing::FakeClock clock_;
  HashTurns hash_turns_{1};
  std::unique_ptr<DiskBlobStore> blobs_;
  std::unique_ptr<DiskUploadStore> uploads_;
};

}  // namespace quotient::store
