#pragma once

// The uploads in progress: what they still need of the disk, and whose they are. An upload reserves
// what it has announced and not yet written, so that all that were begun can also end, and no
// client can take all uploads or all of the disk: of the room that others have not reserved, it may
// have three quarters, or with a single upload all but a rest.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "server/jobs/blob_store.h"
#include "server/store/disk/upload_state.h"

namespace quotient::store {

struct UploadLimits {
  int max_open = 512;
  int max_open_per_client = 128;
  // Of one client and one blob. Beyond it, the client gets one that nobody has written to for
  // `idle_ms`: another program of the client may be about to begin with one that is new.
  int max_open_per_blob = 4;
  int64_t idle_ms = 10'000;
  // What one client's uploads may reserve together.
  int64_t max_bytes_per_client = int64_t{64} << 30;
  // What a client's only upload leaves of the room to others, if it takes more than three quarters.
  int64_t rest_bytes = int64_t{256} << 20;
};

// Thread-safe.
class UploadTable {
 public:
  // Borrows the clock.
  UploadTable(const UploadLimits& limits, const Clock* clock) : limits_(limits), clock_(*clock) {}

  // Adds an upload that was begun by an earlier process, whatever the limits are.
  void Restore(const std::string& id, const UploadState& state) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reserves room for an upload under this id, of the `room_bytes` that all uploads may take.
  // Returns the id, or that of an upload of the same client and blob that is idle. Errors:
  // QUOTA_CALLS if the client has or would have too much, QUEUE_FULL if others have, and
  // STORAGE_DOWN if the upload has no room even by itself.
  absl::StatusOr<std::string> Reserve(const std::string& id, const UploadState& state,
                                      int64_t room_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // So many bytes are on the disk and need not be reserved any more.
  void SetCommitted(absl::string_view id, int64_t committed) ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives back what the upload has reserved.
  void Remove(absl::string_view id) ABSL_LOCKS_EXCLUDED(mutex_);

  // A writer begins, or ends.
  void AddWriter(absl::string_view id, int change) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the upload is in the table and somebody writes to it.
  bool HasWriter(absl::string_view id) const ABSL_LOCKS_EXCLUDED(mutex_);

  jobs::UploadLoad Load() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The sizes of all blobs that the client is sending but `except`, each of them once.
  int64_t BytesOf(absl::string_view client, const BlobId& except) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Upload {
    UploadState state;
    int64_t idle_since_ns = 0;  // Since when nobody writes to it; counts only while that is so.
    int writers = 0;
    int64_t reserved_bytes() const { return state.blob.size_bytes - state.committed; }
  };
  // Returns QUOTA_CALLS if one more upload would be too many of its client, and QUEUE_FULL if it
  // would be in all.
  absl::Status CheckLimits(const UploadState& state) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns one of the two if there is no room, by whose reservations it is taken, or STORAGE_DOWN
  // if it is taken by none.
  absl::Status CheckRoom(const UploadState& state, int64_t room_bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // An upload of the same client and blob that may be given out again, if there are too many.
  absl::StatusOr<std::optional<std::string>> FindSame(const UploadState& state) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t ReservedBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const UploadLimits limits_;
  const Clock& clock_;

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Upload> uploads_ ABSL_GUARDED_BY(mutex_);  // By id.
};

}  // namespace quotient::store
