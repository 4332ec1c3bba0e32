#pragma once

// Interfaces of the stores for blobs, for what jobs make and for uploads in progress. A blob is
// immutable, is found by its digest, and is either complete or absent. One that was damaged on the
// disk is set aside as soon as that is found, and then it is absent, so that it can be stored anew.
// One that no job refers to is removed when nobody has used it for a day, or an hour if room is
// short (retention.h).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
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
  // Whether some of the bytes that were read so far are zeros because the disk could not read them.
  // Whoever has used them must ask this at the end.
  virtual bool damaged() const = 0;
  // Gives back the memory that the bytes take until they are used again, where it can.
  virtual void Release() const {}
};

// Thread-safe. Errors: STORAGE_DOWN if the disk fails or is nearly full.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Looks for the blob, and not at its bytes.
  virtual absl::StatusOr<bool> Contains(const BlobId& id) = 0;
  // Looks for it, too, and takes it as used now if it is there: somebody is about to refer to it.
  virtual absl::StatusOr<bool> Use(const BlobId& id) = 0;
  // Returns NOT_FOUND if there is no such blob. Reads all of it, and returns BLOB_CORRUPT if the
  // bytes do not have the digest.
  virtual absl::Status Verify(const BlobId& id) = 0;
  // Verifies the blob first, unless this process has done so before.
  virtual absl::StatusOr<std::shared_ptr<const Blob>> Open(const BlobId& id) = 0;
};

// Takes what a job makes. Thread-safe.
class BlobSink {
 public:
  virtual ~BlobSink() = default;

  // Returns the id under which the bytes can be found when the job has ended. Errors: LIMIT_BYTES,
  // and STORAGE_DOWN if the disk fails or is nearly full.
  virtual absl::StatusOr<BlobId> Put(absl::string_view bytes) = 0;
};

struct HeldBlob {
  BlobId id;
  int64_t use_ms = 0;  // Unix time at which it was stored or last used.
};

// What a store of blobs holds, for whoever removes what nobody needs. Thread-safe. Errors:
// STORAGE_DOWN.
class BlobInventory {
 public:
  virtual ~BlobInventory() = default;

  // Passes on all blobs, perhaps without those that are stored or removed meanwhile.
  virtual absl::Status Visit(absl::FunctionRef<absl::Status(const HeldBlob&)> visit) = 0;
  // Returns when the blob was stored or last used, Unix time; nothing if it is not there.
  virtual std::optional<int64_t> LastUseMs(const BlobId& id) const = 0;
  // Removes the blob, unless it was used at `unix_ms` or later. Returns whether it was removed.
  // Readers that have it open keep it.
  virtual absl::StatusOr<bool> RemoveUnused(const BlobId& id, int64_t unix_ms) = 0;
  // What the disk has free.
  virtual absl::StatusOr<int64_t> FreeBytes() const = 0;
};

// Verifies a blob, even if that was done before, and opens it.
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

// What the uploads in progress take.
struct UploadLoad {
  int open = 0;
  int64_t reserved_bytes = 0;  // Announced and not yet on the disk.
};

// Uploads in progress, which survive a restart. Each reserves the room that it still needs, until
// it ends or expires. Thread-safe.
class UploadStore {
 public:
  virtual ~UploadStore() = default;

  // `client` is who uploads, for the limits per client. Returns QUOTA_CALLS if the client has too
  // many uploads, or if they would take too much, QUOTA_BYTES if it has too much stored, QUEUE_FULL
  // if there are too many in all, or if those of others have reserved the room, and STORAGE_DOWN if
  // the disk has no room for the blob. May return an earlier upload of the same blob and client, to
  // which nobody writes.
  virtual absl::StatusOr<UploadTicket> Start(const BlobId& blob, absl::string_view client) = 0;
  // Returns NOT_FOUND if there is no such upload, or no longer.
  virtual absl::StatusOr<int64_t> CommittedOffset(absl::string_view upload_id) = 0;
  // Takes over the upload from any other writer. Returns UPLOAD_OFFSET unless `offset` equals the
  // committed offset.
  virtual absl::StatusOr<std::unique_ptr<UploadWriter>> Resume(absl::string_view upload_id,
                                                               int64_t offset) = 0;
  // Removes uploads to which nothing was committed since `unix_ms`, and those of which nothing was
  // ever committed if they were begun before `empty_unix_ms`. Leaves those to which somebody
  // writes.
  virtual absl::Status Expire(int64_t unix_ms, int64_t empty_unix_ms) = 0;
  virtual UploadLoad Load() const = 0;
};

}  // namespace quotient::jobs
