#pragma once

// Removes what nobody needs any more: jobs that have ended and whose result nobody has asked for in
// a long time, and blobs that no job refers to. If room is short all the same, the blobs of no job
// go earlier, and then the jobs that were not used for longest: those without a result, those whose
// removal frees files, and those whose own record is large.
//
// A blob is never removed while a job in the store refers to it. One to which a job is about to
// refer, such as a model that was sent a moment ago, was used just now and stays for that reason.
// Jobs are removed before their blobs, so a crash in between leaves blobs that the next round
// finds.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/ledger.h"

namespace quotient::jobs {

struct RetentionLimits {
  int64_t keep_ms = 0;         // Jobs that were not used for so long are removed; 0: none are.
  int64_t max_bytes = 0;       // Of all blobs and of the job store; 0: no limit.
  int64_t min_free_bytes = 0;  // What the disk should have free.
  // What was used so recently stays, even if room is short.
  int64_t spare_ms = int64_t{3600} * 1000;
};

// What a round has removed, and what it has left.
struct RetentionRound {
  int jobs_by_age = 0;
  int jobs_for_space = 0;
  int blobs = 0;
  int64_t blob_bytes = 0;
  int64_t held_bytes = 0;  // Of all blobs that are left.
  int64_t row_bytes = 0;   // What the job store takes for the jobs that are left.
  // What should still go, and cannot, since it is needed or was just used.
  int64_t excess_bytes = 0;
  // Whether there is such an excess now and was none after the last round that came to an end, or
  // the other way round.
  bool excess_changed = false;
};

// One thread at a time.
class Retention {
 public:
  // What nobody needs stays for so long after its last use.
  static constexpr int64_t kUnusedBlobMs = int64_t{24} * 3600 * 1000;

  // Borrows all three. `on_removed` is told of each blob that was removed.
  Retention(
      const RetentionLimits& limits, Ledger* ledger, BlobInventory* blobs, const Clock* clock,
      std::function<void(const BlobId&)> on_removed = [](const BlobId&) {})
      : limits_(limits),
        ledger_(*ledger),
        blobs_(*blobs),
        clock_(*clock),
        on_removed_(std::move(on_removed)) {}

  // Looks at all jobs that may be removed and at all blobs. If it fails in the middle, `round` has
  // what was done, and the next round goes on.
  absl::Status Run(RetentionRound* round);
  // Whether the disk has less free than it should, so that a round should not wait.
  absl::StatusOr<bool> IsRoomShort() const;

 private:
  // Removes those of the jobs that were not used since. Returns how many there were.
  absl::StatusOr<int> RemoveJobs(std::span<const std::string> ids, int64_t before_ms,
                                 RemovalCause cause);
  absl::Status RemoveOldJobs(int64_t before_ms, RetentionRound* round);
  // Removes the blob if no job refers to it and nobody used it since.
  absl::Status RemoveBlob(const BlobId& id, int64_t before_ms, RetentionRound* round);
  // Removes such blobs until `enough` bytes are gone, and counts what is held if asked to.
  absl::Status RemoveUnusedBlobs(int64_t before_ms, int64_t enough, bool counts,
                                 RetentionRound* round);
  absl::Status MakeRoom(int64_t before_ms, RetentionRound* round);
  // Gives all that removed jobs have left in the store back to the disk, which else looks fuller
  // than it is about to be. Takes a short transaction for each MiB.
  absl::Status GiveBack();
  // Removes the job and its blobs if that is worth it.
  absl::Status Evict(const std::string& id, int64_t before_ms, RetentionRound* round);

  const RetentionLimits limits_;
  Ledger& ledger_;
  BlobInventory& blobs_;
  const Clock& clock_;
  const std::function<void(const BlobId&)> on_removed_;

  bool had_excess_ = false;  // After the last round that came to an end.
};

}  // namespace quotient::jobs
