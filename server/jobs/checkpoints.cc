#include "server/jobs/checkpoints.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::jobs {

Checkpoints::Checkpoints(Ledger* ledger, Dispatch* dispatch, CheckpointStore* store)
    : jobs_(ledger->store()), dispatch_(*dispatch), store_(*store) {
  ledger->AddObserver(this);
}

// The bytes are written and synced first, so that only the renaming has to happen inside WhileHeld,
// which blocks all other writes.
absl::Status Checkpoints::Save(const Lease& lease, absl::string_view bytes) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<StagedCheckpoint> staged,
                            store_.Stage(lease.job_id, bytes));
  return dispatch_.WhileHeld(lease, [&staged] { return staged->Commit(); });
}

std::string Checkpoints::Find(absl::string_view job_id) {
  absl::StatusOr<std::string> bytes = store_.Get(job_id);
  if (bytes.ok()) return *std::move(bytes);
  if (!absl::IsNotFound(bytes.status())) {
    Log().warn("job {}: checkpoint not read: {}", std::string(job_id),
               std::string(bytes.status().message()));
  }
  return "";
}

absl::StatusOr<int> Checkpoints::RemoveEnded() {
  int removed = 0;
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<std::string> ids, store_.List());
  for (const std::string& id : ids) {
    const absl::StatusOr<std::optional<Job>> job = jobs_.Get(id);
    // A job whose record cannot be read runs no more.
    if (GetReason(job.status()) != Reason::kInternal) {
      QUOTIENT_RETURN_IF_ERROR(job.status());
      if (job->has_value() && !IsTerminal((*job)->state)) continue;
    }
    QUOTIENT_RETURN_IF_ERROR(store_.Remove(id));
    ++removed;
  }
  return removed;
}

void Checkpoints::OnTransition(const Job& job, const Transition& transition) {
  if (!IsTerminal(transition.to)) return;
  if (const absl::Status status = store_.Remove(job.id); !status.ok()) {
    Log().warn("job {}: checkpoint not removed: {}", job.id, std::string(status.message()));
  }
}

}  // namespace quotient::jobs
