#pragma once

// The uploads in progress: what they still need of the disk, and whose they are. An upload has one
// of a number of places, and reserves what it has announced and not yet written, so that all that
// were begun can also end. No client can take all of the disk: of the room that others have not
// reserved, it may have three quarters, or with a single upload all but a rest. Nor can a few take
// all places: if there is none left, an upload of who has most gives its own up to a client that
// has few. It stays, with all that is on the disk of it, and gets a place again when it is resumed,
// if there is one then.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/fair_places.h"
#include "server/store/disk/upload_state.h"

namespace quotient::store {

struct UploadLimits {
  int max_open = 512;             // Places. As many more uploads may be without one.
  int max_open_per_client = 128;  // With a place or without.
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

  // What an upload got.
  struct Reservation {
    std::string id;
    // An upload that was given up for it: nothing came of it, or too many are without a place.
    std::optional<std::string> given_up;
  };

  // Adds an upload that was begun by an earlier process, whatever the limits of clients and of the
  // room are. It has a place if there is one.
  void Restore(const std::string& id, const UploadState& state) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reserves a place and room for an upload under this id, of the `room_bytes` that all uploads may
  // take. Returns the id, or that of an upload of the same client and blob that is idle. Errors:
  // QUOTA_CALLS if the client has or would have too much, QUEUE_FULL if others have, and
  // STORAGE_DOWN if the upload has no room even by itself.
  absl::StatusOr<Reservation> Reserve(const std::string& id, const UploadState& state,
                                      int64_t room_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for an upload of the table, which may have lost its place.
  absl::StatusOr<Reservation> ReserveAgain(absl::string_view id, int64_t room_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Bytes have come. Returns QUEUE_FULL if the upload has lost its place.
  absl::Status NoteNews(absl::string_view id) ABSL_LOCKS_EXCLUDED(mutex_);
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
  int64_t BytesOf(absl::string_view client, std::span<const BlobId> except) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Upload {
    UploadState state;
    // When it was given out, somebody began or ended to write to it, or bytes came, last.
    int64_t news_ns = 0;
    int writers = 0;
    bool has_place = false;
    int64_t reserved_bytes() const {
      return has_place ? state.blob.size_bytes - state.committed : 0;
    }
  };
  // Returns QUOTA_CALLS if the client has so many uploads that it may have no other one.
  absl::Status CheckCount(absl::string_view client) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The upload has no place yet. Returns QUOTA_CALLS if its client would reserve too much with it.
  absl::Status CheckBytes(const UploadState& state) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same if there is no room, or QUEUE_FULL, by whose reservations it is taken, or STORAGE_DOWN
  // if it is taken by none.
  absl::Status CheckRoom(const UploadState& state, int64_t room_bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives the upload a place if it has none.
  absl::StatusOr<Reservation> GivePlace(const std::string& id, int64_t room_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the place of an upload of who has most for this one, of this client. Returns which one is
  // given up for that, if one is. QUEUE_FULL if nobody has so many.
  absl::StatusOr<std::optional<std::string>> TakePlaceFor(absl::string_view id,
                                                          absl::string_view client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of the uploads without a place but this one, and to which nobody writes, the one without news
  // for longest.
  std::optional<std::string> LongestWithoutPlace(absl::string_view except) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // An upload of the same client and blob that may be given out again, if there are too many.
  absl::StatusOr<std::optional<std::string>> FindSame(const UploadState& state) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t ReservedBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const UploadLimits limits_;
  const Clock& clock_;

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Upload> uploads_ ABSL_GUARDED_BY(mutex_);  // By id.
  jobs::FairPlaces places_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::store
