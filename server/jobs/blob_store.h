#pragma once

// Where bytes are kept: by digest, immutable, wholly there or not there.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"

namespace quotient::jobs {

// The bytes of a blob for as long as the object lives.
class Blob {
 public:
  virtual ~Blob() = default;
  virtual absl::string_view bytes() const = 0;
};

// Thread-safe. Failures: STORAGE_DOWN when the disk fails or is nearly full.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  virtual absl::StatusOr<bool> Contains(const BlobId& id) = 0;
  // NOT_FOUND if it is not there. Does not check the digest: see OpenVerified.
  virtual absl::StatusOr<std::shared_ptr<const Blob>> Open(const BlobId& id) = 0;
  // Durable when this returns.
  virtual absl::StatusOr<BlobId> Put(absl::string_view bytes) = 0;
};

// Opens a blob and checks that its bytes are those of its name. BLOB_CORRUPT if not.
absl::StatusOr<std::shared_ptr<const Blob>> OpenVerified(BlobStore& blobs, const BlobId& id);

// Takes the bytes of one upload. One thread at a time. Dropping the writer keeps what was
// acknowledged, so that the upload can go on later.
class UploadWriter {
 public:
  virtual ~UploadWriter() = default;

  // ABORTED if another writer has taken the upload over; LIMIT_BYTES past the announced size.
  virtual absl::Status Append(absl::string_view bytes) = 0;
  // Bytes that are durable. Append raises it every few megabytes, Flush to the last byte.
  virtual int64_t committed_offset() const = 0;
  virtual absl::Status Flush() = 0;
  // Makes the upload a blob. BAD_DIGEST if the bytes are not those announced; the upload is then
  // gone.
  virtual absl::Status Finish() = 0;
};

struct UploadTicket {
  std::string upload_id;  // empty if done
  int64_t committed_offset = 0;
  bool done = false;
};

// Uploads in progress; they survive a restart. Thread-safe.
class UploadStore {
 public:
  virtual ~UploadStore() = default;

  virtual absl::StatusOr<UploadTicket> Start(const BlobId& blob) = 0;
  // NOT_FOUND if there is no such upload (any more).
  virtual absl::StatusOr<int64_t> CommittedOffset(absl::string_view upload_id) = 0;
  // Takes the upload over from any other writer. UPLOAD_OFFSET unless `offset` is the committed
  // one.
  virtual absl::StatusOr<std::unique_ptr<UploadWriter>> Resume(absl::string_view upload_id,
                                                               int64_t offset) = 0;
  // Removes uploads that nobody has written to since `unix_ms`.
  virtual absl::Status Expire(int64_t unix_ms) = 0;
};

}  // namespace quotient::jobs
