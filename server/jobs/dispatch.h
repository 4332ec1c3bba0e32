#pragma once

// The side of the queue that workers use: claim, renew, finish, hand back. Whose job is next is
// decided by fair_share.h. Every write of a worker
// is checked against the epoch of its lease, so that a worker that was taken for dead cannot change
// the job any more.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/clock.h"
#include "core/base/monotonic_mutex.h"
#include "server/jobs/fair_share.h"
#include "server/jobs/job.h"
#include "server/jobs/last_end.h"
#include "server/jobs/lease_table.h"
#include "server/jobs/ledger.h"

namespace quotient::jobs {

struct Claimed {
  Job job;
  Lease lease;
};

// Thread-safe. Calls with a lease return ABORTED if the lease is lost.
class Dispatch : public JobObserver {
 public:
  // A worker that does not renew for this long, while the process is awake, is taken for dead.
  // Workers renew three times in this period.
  static constexpr int64_t kLeaseMs = 30'000;

  // Borrows the ledger and observes it, to learn when there is work. Leases go by the monotonic
  // time of `clock`, which is borrowed.
  Dispatch(Ledger* ledger, const Clock* clock);

  // Sets the job that is next to RUNNING, under a new lease. Returns nothing if no job waits, or if
  // the next one has to run alone, or another one does so now.
  absl::StatusOr<std::optional<Claimed>> Claim(absl::string_view owner);
  // Extends the lease. Does not touch the store.
  absl::StatusOr<Orders> Renew(const Lease& lease);
  // Ends the job with a result or an error.
  absl::Status Finish(const Lease& lease, const absl::StatusOr<JobResult>& result);
  // Runs `action` while the lease is held: during the call nobody else can claim or end the job.
  absl::Status WhileHeld(const Lease& lease, absl::FunctionRef<absl::Status()> action);
  // Puts the job back into the queue for a reason that is not the job's; the attempt does not
  // count. Ends the job if it is being cancelled. Other jobs, also of its client, go before it for
  // `pause`, which a new process does not know of.
  absl::Status HandBack(const Lease& lease, absl::string_view reason,
                        absl::Duration pause = absl::ZeroDuration());
  // Treats the worker as dead, because its process cannot run the job any more: the job goes back
  // to the queue because of `reason`, or fails with `error` if this was its last attempt.
  absl::Status Lose(const Lease& lease, absl::string_view reason, const absl::Status& error);

  // Fails waiting jobs that should have begun by now, with QUEUE_DEADLINE. Returns their number.
  absl::StatusOr<int> FailOverdue();
  // Takes jobs back from workers whose leases have expired. Returns the number of jobs. Has to be
  // called more often than every AwakeClock::kLongestStepMs.
  absl::StatusOr<int> RequeueLost();
  // Takes back all running jobs. To be called at the start of a process that alone owns the store,
  // when the holders of all leases are dead. How the last process ended says whose attempt counts.
  absl::StatusOr<int> RecoverAll(const LastEnd& end);

  // Number of leases that are held, or have expired and were not taken back yet.
  int leases() const { return leases_.size(); }

  // Blocks until there may be work, `timeout` has passed or Interrupt is called.
  void WaitForWork(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends current and future calls of WaitForWork at once.
  void Interrupt() ABSL_LOCKS_EXCLUDED(mutex_);

  void OnTransition(const Job& job, const Transition& transition) override;
  void OnSetAside(const std::string& id, JobState state) override;

 private:
  // Ends the lease by a change of its job that `change` makes. ABORTED if the lease is lost.
  absl::Status End(const Lease& lease, absl::FunctionRef<absl::Status(Ledger::Edit&, Job)> change);
  absl::Status EndHeld(HeldLease& held, absl::FunctionRef<absl::Status(Ledger::Edit&, Job)> change)
      ABSL_LOCKS_EXCLUDED(held.mutex);

  // Keeps account of what is done for whom.
  void Account(const Job& job, const Transition& transition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the job that is next, after it has failed those that are overdue; nothing if none
  // waits.
  absl::StatusOr<std::optional<Job>> NextInTime(Ledger::Edit& edit) ABSL_LOCKS_EXCLUDED(mutex_);
  const QueueHead& Next(const std::vector<QueueHead>& heads) ABSL_LOCKS_EXCLUDED(mutex_);
  // The ids of jobs whose pauses last.
  std::set<std::string> Pausing() ABSL_LOCKS_EXCLUDED(mutex_);

  Ledger& ledger_;
  const Clock& clock_;
  LeaseTable leases_;

  MonotonicMutex mutex_;
  FairShare fair_share_ ABSL_GUARDED_BY(mutex_);
  // Whether jobs may be waiting. Initially true, since the store may hold some.
  bool work_ ABSL_GUARDED_BY(mutex_) = true;
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
  // Until when jobs that were handed back have to pause, by their ids.
  std::map<std::string, int64_t> paused_until_ns_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::jobs
