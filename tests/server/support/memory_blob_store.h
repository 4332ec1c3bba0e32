#pragma once

// A blob store in memory, for tests that need many.

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/blob_store.h"

namespace quotient::testing {

// Thread-safe. Nothing in it is ever damaged or removed.
class MemoryBlobStore : public jobs::BlobStore, public jobs::BlobSink {
 public:
  absl::StatusOr<bool> Contains(const BlobId& id) override {
    absl::MutexLock lock(&mutex_);
    return blobs_.contains(id);
  }
  absl::StatusOr<bool> Use(const BlobId& id) override { return Contains(id); }
  absl::Status Verify(const BlobId& id) override { return Open(id).status(); }

  absl::StatusOr<std::shared_ptr<const jobs::Blob>> Open(const BlobId& id) override {
    absl::MutexLock lock(&mutex_);
    const auto found = blobs_.find(id);
    if (found == blobs_.end()) return absl::NotFoundError(absl::StrCat("no blob ", id.Text()));
    return std::make_shared<Bytes>(found->second);
  }

  absl::StatusOr<BlobId> Put(absl::string_view bytes) override {
    const BlobId id = BlobId::Of(bytes);
    absl::MutexLock lock(&mutex_);
    blobs_.emplace(id, bytes);
    return id;
  }

 private:
  class Bytes : public jobs::Blob {
   public:
    explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}
    absl::string_view bytes() const override { return bytes_; }
    bool damaged() const override { return false; }

   private:
    const std::string bytes_;
  };

  absl::Mutex mutex_;
  std::map<BlobId, std::string> blobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::testing
