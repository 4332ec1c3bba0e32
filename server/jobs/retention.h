#pragma once

// Removes what nobody needs any more: jobs that have ended and whose result nobody has used for
// long, and blobs that no job refers to. If the disk fills up all the same, the results that were
// not used for longest go first.
//
// A blob is never removed while a job in the store refers to it. One to which a job is about to
// refer, such as a model that was sent a moment ago, was used just now and stays for that reason.
// Jobs are removed before their blobs, so a crash in between leaves blobs that the next round
// finds.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/ledger.h"

namespace quotient::jobs {

struct RetentionLimits {
  int64_t keep_ms = 0;         // Jobs that were not used for so long are removed; 0: none are.
  int64_t max_blob_bytes = 0;  // Of all blobs; 0: no limit.
  int64_t min_free_bytes = 0;  // What the disk should have free.
};

// What a round has removed, and what it has left.
struct RetentionRound {
  int jobs_by_age = 0;
  int jobs_for_space = 0;
  int blobs = 0;
  int64_t blob_bytes = 0;
  int64_t held_bytes = 0;  // Of all blobs that are left.
};

// One thread at a time.
class Retention {
 public:
  // A blob that no job refers to stays for so long after its last use, and the result of a job for
  // so long even if room is short.
  static constexpr int64_t kUnusedBlobMs = int64_t{24} * 3600 * 1000;
  static constexpr int64_t kLeastResultMs = int64_t{3600} * 1000;

  // Borrows all three.
  Retention(const RetentionLimits& limits, Ledger* ledger, BlobInventory* blobs, const Clock* clock)
      : limits_(limits), ledger_(*ledger), blobs_(*blobs), clock_(*clock) {}

  // Looks at all jobs that may be removed and at all blobs. If it fails in the middle, the next
  // round goes on.
  absl::StatusOr<RetentionRound> Round();
  // Whether the disk has less free than it should, so that a round should not wait.
  absl::StatusOr<bool> IsRoomShort() const;

 private:
  // Removes the job if it was not used since. Returns whether it did.
  absl::StatusOr<bool> RemoveJob(const std::string& id, int64_t before_ms);
  absl::Status RemoveOldJobs(int64_t before_ms, RetentionRound* round);
  // Removes the blob if no job refers to it and nobody used it since.
  absl::Status RemoveBlob(const BlobId& id, int64_t before_ms, RetentionRound* round);
  absl::Status RemoveUnusedBlobs(int64_t before_ms, RetentionRound* round);
  absl::Status MakeRoom(int64_t before_ms, RetentionRound* round);
  // How many bytes too many there are.
  absl::StatusOr<int64_t> Excess(const RetentionRound& round) const;

  const RetentionLimits limits_;
  Ledger& ledger_;
  BlobInventory& blobs_;
  const Clock& clock_;
};

}  // namespace quotient::jobs
