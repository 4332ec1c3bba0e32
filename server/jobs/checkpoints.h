#pragma once

// Checkpoints of the jobs that wait or run: written under the worker's lease, found by whoever runs
// the job next, removed when it has ended.

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
  // All borrowed. Observes the ledger.
  Checkpoints(Ledger* ledger, Dispatch* dispatch, CheckpointStore* store);

  // Replaces the job's checkpoint. ABORTED if the lease is lost: then the one there stays.
  absl::Status Save(const Lease& lease, absl::string_view bytes);
  // Empty if there is none, or none that can be read.
  std::string Find(absl::string_view job_id);
  // Removes those of jobs that have ended, which a crash can leave; returns how many. For the start
  // of a process.
  absl::StatusOr<int> RemoveEnded();

  void OnTransition(const Job& job, const Transition& transition) override;

 private:
  JobStore& jobs_;
  Dispatch& dispatch_;
  CheckpointStore& store_;
};

}  // namespace quotient::jobs
