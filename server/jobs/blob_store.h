#pragma once

// Interfaces of the stores for blobs and for uploads in progress. A blob is immutable, is found by
// its digest, and is either complete or absent.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"

namespace quotient::jobs {

// A blob whose bytes are accessible as long as the object lives.
class Blob {
 public:
  virtual ~Blob() = default;
  virtual absl::string_view bytes() const = 0;
  // Gives back the memory that the bytes take until they are used again, where it can.
  virtual void Release() const {}
};

// Thread-safe. Errors: STORAGE_DOWN if the disk fails or is nearly full.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  virtual absl::StatusOr<bool> Contains(const BlobId& id) = 0;
  // Returns NOT_FOUND if there is no such blob. Does not check the digest; see OpenVerified.
  virtual absl::StatusOr<std::shared_ptr<const Blob>> Open(const BlobId& id) = 0;
  // Durable when this returns.
  virtual absl::StatusOr<BlobId> Put(absl::string_view bytes) = 0;
};

// Opens a blob and returns BLOB_CORRUPT if its bytes do not have the digest `id`.
absl::StatusOr<std::shared_ptr<const Blob>> OpenVerified(BlobStore& blobs, const BlobId& id);

// Writes the bytes of one upload. One thread at a time. Destroying the writer keeps the bytes
// written so far, so that the upload can be resumed.
class UploadWriter {
 public:
  virtual ~UploadWriter() = default;

  // Returns ABORTED if another writer has taken over the upload, and LIMIT_BYTES beyond the
  // announced size.
  virtual absl::Status Append(absl::string_view bytes) = 0;
  // Number of bytes that are durable. Append raises it every few megabytes.
  virtual int64_t committed_offset() const = 0;
  // Makes all bytes durable.
  virtual absl::Status Flush() = 0;
  // Turns the upload into a blob. If the bytes do not have the announced digest, removes the upload
  // and returns BAD_DIGEST.
  virtual absl::Status Finish() = 0;
};

struct UploadTicket {
  std::string upload_id;  // Empty if done.
  int64_t committed_offset = 0;
  bool done = false;  // Whether the blob exists already.
};

// Uploads in progress, which survive a restart. Thread-safe.
class UploadStore {
 public:
  virtual ~UploadStore() = default;

  virtual absl::StatusOr<UploadTicket> Start(const BlobId& blob) = 0;
  // Returns NOT_FOUND if there is no such upload, or no longer.
  virtual absl::StatusOr<int64_t> CommittedOffset(absl::string_view upload_id) = 0;
  // Takes over the upload from any other writer. Returns UPLOAD_OFFSET unless `offset` equals the
  // committed offset.
  virtual absl::StatusOr<std::unique_ptr<UploadWriter>> Resume(absl::string_view upload_id,
                                                               int64_t offset) = 0;
  // Removes uploads to which nothing was committed since `unix_ms`.
  virtual absl::Status Expire(int64_t unix_ms) = 0;
};

}  // namespace quotient::jobs
