#pragma once

// Checkpoints of waiting and running jobs. A worker writes one while it holds the job's lease, the
// next worker resumes from it, and it is removed when the job ends.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/jobs/checkpoint_store.h"
#include "server/jobs/dispatch.h"
#include "server/jobs/ledger.h"

namespace quotient::jobs {

// Thread-safe.
class Checkpoints : public JobObserver {
 public:
  // Borrows all three. Observes the ledger.
  Checkpoints(Ledger* ledger, Dispatch* dispatch, CheckpointStore* store);

  // Replaces the job's checkpoint. Returns ABORTED and keeps the old one if the lease is lost.
  absl::Status Save(const Lease& lease, absl::string_view bytes);
  // Returns "" if there is no checkpoint or it cannot be read.
  std::string Find(absl::string_view job_id);
  // Removes checkpoints of jobs that have ended, which a crash can leave behind, and of those that
  // cannot be read. Returns their number. To be called at the start of the process.
  absl::StatusOr<int> RemoveEnded();

  void OnTransition(const Job& job, const Transition& transition) override;

 private:
  JobStore& jobs_;
  Dispatch& dispatch_;
  CheckpointStore& store_;
};

}  // namespace quotient::jobs
