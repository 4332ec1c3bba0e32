#pragma once

// The workers' side of the queue: claim, renew, finish, hand back. Every write of a worker is
// fenced by the lease's epoch, so a worker that was given up cannot touch the job any more.

#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/job.h"
#include "server/jobs/ledger.h"

namespace quotient::jobs {

struct Claimed {
  Job job;
  Lease lease;
};

// Thread-safe. Fenced calls return ABORTED when the lease is lost.
class Dispatch : public JobObserver {
 public:
  // A worker that is silent for this long is taken for dead; it renews three times as often.
  static constexpr int64_t kLeaseMs = 30'000;

  // Borrows the ledger, and observes it to know when there is work.
  explicit Dispatch(Ledger* ledger);

  // The oldest waiting job, now running under a lease; nothing if none waits.
  absl::StatusOr<std::optional<Claimed>> Claim(absl::string_view owner);
  // Keeps the lease alive. Returns the job's state: CANCELLING means that it should end.
  absl::StatusOr<JobState> Renew(const Lease& lease);
  // Ends the job, with a result or an error.
  absl::Status Finish(const Lease& lease, const absl::StatusOr<JobResult>& result);
  // Does something that a worker may only do while the job is its own: meanwhile nobody else can
  // claim the job or end it. Quick, for all writes wait.
  absl::Status WhileHeld(const Lease& lease, absl::FunctionRef<absl::Status()> action);
  // Puts the job back as if it had not been claimed.
  absl::Status HandBack(const Lease& lease);
  // Takes the job back from a worker whose process can do no more for it, as if it had died:
  // another attempt, or the end of the job with `error` if this was the last one.
  absl::Status Lose(const Lease& lease, const absl::Status& error);

  // Takes back jobs whose workers are silent for too long; returns how many.
  absl::StatusOr<int> RequeueLost();
  // Takes back all running jobs. For the start of a process that owns the store alone: whoever
  // held leases is dead.
  absl::StatusOr<int> RecoverAll();

  // Blocks until there may be work, `timeout` has passed or Interrupt was called.
  void WaitForWork(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends all waiting, now and later.
  void Interrupt() ABSL_LOCKS_EXCLUDED(mutex_);

  void OnTransition(const Job& job, const Transition& transition) override;

 private:
  // The job under a lease, if the lease still holds.
  absl::StatusOr<Job> Fenced(JobTransaction& store, const Lease& lease) const;
  // Those whose leases ended by then; unset: by the store's present time.
  absl::StatusOr<int> TakeBack(std::optional<int64_t> leases_until_ms);
  // `error`: what the job fails with if there are no attempts left.
  static absl::Status MoveLost(Ledger::Edit& edit, Job job, const absl::Status& error,
                               absl::string_view actor, absl::string_view reason);

  Ledger& ledger_;

  absl::Mutex mutex_;
  bool work_ ABSL_GUARDED_BY(mutex_) = true;  // before the first claim nobody knows
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace quotient::jobs
