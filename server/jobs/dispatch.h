#pragma once

// The side of the queue that workers use: claim, renew, finish, hand back. Every write of a worker
// is checked against the epoch of its lease, so that a worker that was taken for dead cannot change
// the job any more.

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

// Thread-safe. Calls with a lease return ABORTED if the lease is lost.
class Dispatch : public JobObserver {
 public:
  // A worker that does not renew for this long is taken for dead. Workers renew three times in this
  // period.
  static constexpr int64_t kLeaseMs = 30'000;

  // Borrows the ledger and observes it, to learn when there is work.
  explicit Dispatch(Ledger* ledger);

  // Sets the oldest waiting job to RUNNING, under a new lease. Returns nothing if no job waits.
  absl::StatusOr<std::optional<Claimed>> Claim(absl::string_view owner);
  // Extends the lease. Returns the job's state; CANCELLING means that the worker should stop.
  absl::StatusOr<JobState> Renew(const Lease& lease);
  // Ends the job with a result or an error.
  absl::Status Finish(const Lease& lease, const absl::StatusOr<JobResult>& result);
  // Runs `action` while the lease is held: during the call nobody else can claim or end the job.
  // `action` must be quick, since all writes to the store wait for it.
  absl::Status WhileHeld(const Lease& lease, absl::FunctionRef<absl::Status()> action);
  // Puts the job back into the queue; the attempt does not count. Ends the job if it is being
  // cancelled.
  absl::Status HandBack(const Lease& lease);
  // Treats the worker as dead, because its process cannot run the job any more: the job goes back
  // to the queue, or fails with `error` if this was its last attempt.
  absl::Status Lose(const Lease& lease, const absl::Status& error);

  // Takes jobs back from workers whose leases have expired. Returns the number of jobs.
  absl::StatusOr<int> RequeueLost();
  // Takes back all running jobs. To be called at the start of a process that alone owns the store,
  // when the holders of all leases are dead.
  absl::StatusOr<int> RecoverAll();

  // Blocks until there may be work, `timeout` has passed or Interrupt is called.
  void WaitForWork(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends current and future calls of WaitForWork at once.
  void Interrupt() ABSL_LOCKS_EXCLUDED(mutex_);

  void OnTransition(const Job& job, const Transition& transition) override;

 private:
  // Returns the job of a lease, or ABORTED if the lease is lost.
  absl::StatusOr<Job> Fenced(JobTransaction& store, const Lease& lease) const;
  // Takes back jobs whose leases ended before the given time, or before now if it is unset.
  absl::StatusOr<int> TakeBack(std::optional<int64_t> leases_until_ms);
  // Requeues a lost job, or fails it with `error` if it has no attempts left.
  static absl::Status MoveLost(Ledger::Edit& edit, Job job, const absl::Status& error,
                               absl::string_view actor, absl::string_view reason);

  Ledger& ledger_;

  absl::Mutex mutex_;
  // Whether jobs may be waiting. Initially true, since the store may hold some.
  bool work_ ABSL_GUARDED_BY(mutex_) = true;
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace quotient::jobs
