#include "server/jobs/dispatch.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/fault_point.h"
#include "server/jobs/action_key.h"

namespace quotient::jobs {
namespace {

std::string ReasonText(const absl::Status& error) {
  const std::optional<Reason> reason = GetReason(error);
  return reason.has_value() ? std::string(ReasonName(*reason))
                            : absl::StatusCodeToString(error.code());
}

// Whether the job fails if its worker is lost now.
bool IsLastAttempt(const Job& job) {
  return job.state == JobState::kRunning && job.attempt >= Ledger::kMaxAttempts;
}

// Also makes the job's key that of what made the result. A job that waited while its server was
// updated, or got another library or processor, must not be found as one of the old version or
// device.
void TakeResult(const JobResult& result, Job* job) {
  job->result = result;
  job->device_fingerprint = result.device_fingerprint;
  job->action_key = ActionKey(job->spec, {result.engine_version, result.device_fingerprint});
}

absl::Status LeaseLost(const Lease& lease) {
  return absl::AbortedError(absl::StrCat("lease of job ", lease.job_id, " lost"));
}

// Returns the job of a lease; nothing if the store knows of a later one, or cannot read the job.
absl::StatusOr<std::optional<Job>> Fenced(Ledger::Edit& edit, const Lease& lease) {
  QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> job, edit.FindReadable(lease.job_id));
  const bool is_held = job.has_value() && job->lease_epoch == lease.epoch &&
                       (job->state == JobState::kRunning || job->state == JobState::kCancelling);
  if (!is_held) job.reset();
  return job;
}

// Puts the job back into the queue; the attempt does not count.
absl::Status MoveBack(Ledger::Edit& edit, Job job, absl::string_view actor,
                      absl::string_view reason) {
  --job.attempt;
  return edit.Move(&job, JobEvent::kHandBack, actor, reason);
}

// Puts the job back into the queue, or fails it with `error` if it has no attempts left.
absl::Status MoveLost(Ledger::Edit& edit, Job job, const absl::Status& error,
                      absl::string_view actor, absl::string_view reason) {
  const bool is_last = IsLastAttempt(job);
  if (is_last) job.error = error;
  return edit.Move(&job, JobEvent::kLose, actor, is_last ? ReasonText(error) : reason);
}

absl::Status MoveDead(Ledger::Edit& edit, Job job, absl::string_view reason) {
  const absl::Status poisoned = MakeError(
      Reason::kPoisoned, absl::StrCat("the worker died on each of ", job.attempt, " attempts"));
  return MoveLost(edit, std::move(job), poisoned, "recovery", reason);
}

// Moves a job that ran when the process before this one ended.
absl::Status MoveRecovered(Ledger::Edit& edit, Job job, Verdict verdict) {
  if (verdict == Verdict::kGuilty) return MoveDead(edit, std::move(job), "lease_lost");
  job.runs_alone |= verdict == Verdict::kSuspect;
  return MoveBack(edit, std::move(job), "recovery", "interrupted");
}

bool IsOverdue(const Job& job, int64_t now_ms) {
  return job.state == JobState::kQueued && job.start_by_ms > 0 && job.start_by_ms <= now_ms;
}

// What an attempt takes, as far as that is known before it begins.
double ExpectedSeconds(const Job& job) {
  const double budget = job.spec.options.budget_seconds;
  if (job.policy.run_ms == 0) return budget;
  return std::min(budget, 1e-3 * static_cast<double>(job.policy.run_ms));
}

// Fails a job that has waited too long.
absl::Status Expire(Ledger::Edit& edit, Job job) {
  const int64_t waited_ms = edit.store().now_ms() - job.create_ms;
  job.error = MakeError(Reason::kQueueDeadline,
                        absl::StrFormat("the job waited for %.0f s and did not begin",
                                        1e-3 * static_cast<double>(waited_ms)));
  return edit.Move(&job, JobEvent::kExpire, "queue", ReasonText(job.error));
}

// Whether the job may begin now, beside those that run.
absl::StatusOr<bool> MayRun(Ledger::Edit& edit, const Job& job) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Lease> leases, edit.store().Leases());
  for (const Lease& lease : leases) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Job> running, edit.FindReadable(lease.job_id));
    if (running.has_value() && (job.runs_alone || running->runs_alone)) return false;
  }
  return true;
}

}  // namespace

Dispatch::Dispatch(Ledger* ledger, const Clock* clock)
    : ledger_(*ledger), clock_(*clock), leases_(kLeaseMs, clock) {
  ledger_.AddObserver(this);
}

absl::StatusOr<std::optional<Claimed>> Dispatch::Claim(absl::string_view owner) {
  {
    // Cleared before looking, because a job that arrives in the meantime sets it again.
    const MonotonicMutexLock lock(&mutex_);
    work_ = false;
  }
  std::optional<Claimed> claimed;
  QUOTIENT_RETURN_IF_ERROR(ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    JobTransaction& store = edit.store();
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> job, NextInTime(edit));
    if (!job.has_value()) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const bool may_run, MayRun(edit, *job));
    if (!may_run) return absl::OkStatus();
    ++job->attempt;
    ++job->lease_epoch;
    job->start_ms = store.now_ms();
    job->start_by_ms = 0;
    Lease lease{job->id, std::string(owner), job->lease_epoch};
    QUOTIENT_RETURN_IF_ERROR(store.PutLease(lease));
    os::FaultPoint("claim.leased");
    QUOTIENT_RETURN_IF_ERROR(edit.Move(&*job, JobEvent::kClaim, "worker", "claimed"));
    claimed = Claimed{*std::move(job), std::move(lease)};
    return absl::OkStatus();
  }));
  if (claimed.has_value()) {
    os::FaultPoint("claim.committed");
    // There may be more jobs, so the next WaitForWork must not block.
    const MonotonicMutexLock lock(&mutex_);
    work_ = true;
  }
  return claimed;
}

absl::StatusOr<std::optional<Job>> Dispatch::NextInTime(Ledger::Edit& edit) {
  JobTransaction& store = edit.store();
  for (;;) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<QueueHead> heads, store.QueueHeads(Pausing()));
    if (heads.empty()) return std::nullopt;
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> job, edit.FindReadable(Next(heads).job_id));
    if (!job.has_value()) continue;
    if (!IsOverdue(*job, store.now_ms())) return job;
    QUOTIENT_RETURN_IF_ERROR(Expire(edit, *std::move(job)));
  }
}

const QueueHead& Dispatch::Next(const std::vector<QueueHead>& heads) {
  const MonotonicMutexLock lock(&mutex_);
  return fair_share_.Next(heads);
}

absl::StatusOr<Orders> Dispatch::Renew(const Lease& lease) { return leases_.Renew(lease); }

absl::Status Dispatch::Finish(const Lease& lease, const absl::StatusOr<JobResult>& result) {
  return End(lease, [&](Ledger::Edit& edit, Job job) {
    const bool wanted = job.state == JobState::kRunning;
    if (wanted && result.ok()) TakeResult(*result, &job);
    if (wanted && !result.ok()) job.error = result.status();
    os::FaultPoint("finish.taken");
    return edit.Move(&job, result.ok() ? JobEvent::kSucceed : JobEvent::kFail, "worker",
                     result.ok() ? "finished" : ReasonText(result.status()));
  });
}

std::set<std::string> Dispatch::Pausing() {
  const MonotonicMutexLock lock(&mutex_);
  const int64_t now_ns = clock_.NowNs();
  std::erase_if(paused_until_ns_, [&](const auto& entry) { return entry.second <= now_ns; });
  std::set<std::string> ids;
  for (const auto& [id, until_ns] : paused_until_ns_) ids.insert(id);
  return ids;
}

absl::Status Dispatch::HandBack(const Lease& lease, absl::string_view reason,
                                absl::Duration pause) {
  if (pause > absl::ZeroDuration()) {
    // Before the job is in the queue, from which another worker could take it at once.
    const MonotonicMutexLock lock(&mutex_);
    paused_until_ns_[lease.job_id] = clock_.NowNs() + absl::ToInt64Nanoseconds(pause);
  }
  return End(lease, [reason](Ledger::Edit& edit, Job job) {
    os::FaultPoint("hand_back.found");
    return MoveBack(edit, std::move(job), "worker", reason);
  });
}

absl::Status Dispatch::Lose(const Lease& lease, absl::string_view reason,
                            const absl::Status& error) {
  return End(lease, [&](Ledger::Edit& edit, Job job) {
    os::FaultPoint("lose.found");
    return MoveLost(edit, std::move(job), error, "worker", reason);
  });
}

absl::Status Dispatch::WhileHeld(const Lease& lease, absl::FunctionRef<absl::Status()> action) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<HeldLease> held, leases_.Find(lease));
  absl::MutexLock lock(&held->mutex);
  if (held->ended) return LeaseLost(lease);
  return action();
}

absl::Status Dispatch::End(const Lease& lease,
                           absl::FunctionRef<absl::Status(Ledger::Edit&, Job)> change) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<HeldLease> held, leases_.Find(lease));
  return EndHeld(*held, change);
}

absl::Status Dispatch::EndHeld(HeldLease& held,
                               absl::FunctionRef<absl::Status(Ledger::Edit&, Job)> change) {
  absl::MutexLock lock(&held.mutex);
  bool is_lost = false;
  QUOTIENT_RETURN_IF_ERROR(ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> job, Fenced(edit, held.lease));
    is_lost = !job.has_value();
    if (is_lost) return absl::OkStatus();
    QUOTIENT_RETURN_IF_ERROR(edit.store().RemoveLease(held.lease.job_id));
    return change(edit, *std::move(job));
  }));
  os::FaultPoint("lease.ended");
  held.ended = true;
  leases_.Remove(held.lease);
  return is_lost ? LeaseLost(held.lease) : absl::OkStatus();
}

absl::StatusOr<int> Dispatch::FailOverdue() {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                            ledger_.store().Overdue(clock_.UnixMs()));
  if (ids.empty()) return 0;
  int failed = 0;
  QUOTIENT_RETURN_IF_ERROR(ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    failed = 0;
    for (const std::string& id : ids) {
      QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> job, edit.FindReadable(id));
      if (!job.has_value() || !IsOverdue(*job, edit.store().now_ms())) continue;
      QUOTIENT_RETURN_IF_ERROR(Expire(edit, *std::move(job)));
      ++failed;
    }
    return absl::OkStatus();
  }));
  return failed;
}

absl::StatusOr<int> Dispatch::RequeueLost() {
  int taken = 0;
  for (const std::shared_ptr<HeldLease>& held : leases_.Expired()) {
    const absl::Status status = EndHeld(*held, [](Ledger::Edit& edit, Job job) {
      return MoveDead(edit, std::move(job), "lease_lost");
    });
    if (absl::IsAborted(status)) continue;  // The worker has ended the job just now.
    QUOTIENT_RETURN_IF_ERROR(status);
    ++taken;
  }
  return taken;
}

absl::StatusOr<int> Dispatch::RecoverAll(const LastEnd& end) {
  for (const std::shared_ptr<HeldLease>& held : leases_.All()) {
    absl::MutexLock lock(&held->mutex);
    held->ended = true;
    leases_.Remove(held->lease);
  }
  int taken = 0;
  QUOTIENT_RETURN_IF_ERROR(ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    JobTransaction& store = edit.store();
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Lease> leases, store.Leases());
    const Verdict verdict = Judge(end, leases.size());
    for (const Lease& lease : leases) {
      QUOTIENT_RETURN_IF_ERROR(store.RemoveLease(lease.job_id));
      QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> job, edit.FindReadable(lease.job_id));
      if (job.has_value()) {
        QUOTIENT_RETURN_IF_ERROR(MoveRecovered(edit, *std::move(job), verdict));
      }
      os::FaultPoint("recover.moved");
    }
    taken = static_cast<int>(leases.size());
    return absl::OkStatus();
  }));
  os::FaultPoint("recover.committed");
  return taken;
}

void Dispatch::WaitForWork(absl::Duration timeout) {
  const MonotonicMutexLock lock(&mutex_);
  const auto ready = [this]()
                         ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return work_ || interrupted_; };
  mutex_.AwaitFor(ready, timeout);
}

void Dispatch::Interrupt() {
  const MonotonicMutexLock lock(&mutex_);
  interrupted_ = true;
}

void Dispatch::Account(const Job& job, const Transition& transition) {
  const bool ran =
      transition.from == JobState::kRunning || transition.from == JobState::kCancelling;
  const bool runs = transition.to == JobState::kRunning || transition.to == JobState::kCancelling;
  if (!ran && runs) {
    fair_share_.Began(job.id, job.client, ExpectedSeconds(job), clock_.NowNs());
  }
  if (ran && !runs) fair_share_.Ended(job.id, clock_.NowNs());
}

void Dispatch::OnSetAside(const std::string& id, JobState /*state*/) {
  const MonotonicMutexLock lock(&mutex_);
  fair_share_.Ended(id, clock_.NowNs());
  work_ = true;  // Another job may have waited for its end.
}

void Dispatch::OnTransition(const Job& job, const Transition& transition) {
  {
    const MonotonicMutexLock lock(&mutex_);
    Account(job, transition);
  }
  if (transition.from == JobState::kQueued && transition.to == JobState::kRunning) {
    return leases_.Add({job.id, "", job.lease_epoch});
  }
  if (!IsTerminal(transition.to) && transition.to != JobState::kQueued) {
    return leases_.SetOrders(
        job.id, {.cancel = transition.to == JobState::kCancelling, .finish = job.stop_requested});
  }
  if (transition.reason == ReasonName(Reason::kPoisoned)) {
    Log().error("job {}: {}", job.id, std::string(job.error.message()));
  }
  // A job arrives, or one ends for which another one may have waited.
  const MonotonicMutexLock lock(&mutex_);
  work_ = true;
}

}  // namespace quotient::jobs
