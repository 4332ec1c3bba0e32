#include "server/jobs/dispatch.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
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

}  // namespace

Dispatch::Dispatch(Ledger* ledger) : ledger_(*ledger) { ledger_.AddObserver(this); }

absl::StatusOr<std::optional<Claimed>> Dispatch::Claim(absl::string_view owner) {
  {
    // Cleared before looking, because a job that arrives in the meantime sets it again.
    absl::MutexLock lock(&mutex_);
    work_ = false;
  }
  std::optional<Claimed> claimed;
  QUOTIENT_RETURN_IF_ERROR(ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    JobTransaction& store = edit.store();
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> job, store.OldestQueued());
    if (!job.has_value()) return absl::OkStatus();
    ++job->attempt;
    ++job->lease_epoch;
    job->start_ms = store.now_ms();
    QUOTIENT_RETURN_IF_ERROR(edit.Move(&*job, JobEvent::kClaim, "worker", "claimed"));
    Lease lease{job->id, std::string(owner), job->lease_epoch, store.now_ms() + kLeaseMs};
    QUOTIENT_RETURN_IF_ERROR(store.PutLease(lease));
    claimed = Claimed{*std::move(job), std::move(lease)};
    return absl::OkStatus();
  }));
  if (claimed.has_value()) {
    // There may be more jobs, so the next WaitForWork must not block.
    absl::MutexLock lock(&mutex_);
    work_ = true;
  }
  return claimed;
}

absl::StatusOr<Job> Dispatch::Fenced(JobTransaction& store, const Lease& lease) const {
  QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> job, store.Find(lease.job_id));
  if (!job.has_value() || job->lease_epoch != lease.epoch ||
      (job->state != JobState::kRunning && job->state != JobState::kCancelling)) {
    return absl::AbortedError(absl::StrCat("lease of job ", lease.job_id, " lost"));
  }
  return *std::move(job);
}

absl::StatusOr<JobState> Dispatch::Renew(const Lease& lease) {
  JobState state = JobState::kRunning;
  QUOTIENT_RETURN_IF_ERROR(ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(const Job job, Fenced(edit.store(), lease));
    state = job.state;
    Lease renewed = lease;
    renewed.until_ms = edit.store().now_ms() + kLeaseMs;
    return edit.store().PutLease(renewed);
  }));
  return state;
}

absl::Status Dispatch::Finish(const Lease& lease, const absl::StatusOr<JobResult>& result) {
  return ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(Job job, Fenced(edit.store(), lease));
    const bool wanted = job.state == JobState::kRunning;
    if (wanted && result.ok()) TakeResult(*result, &job);
    if (wanted && !result.ok()) job.error = result.status();
    QUOTIENT_RETURN_IF_ERROR(edit.Move(&job, result.ok() ? JobEvent::kSucceed : JobEvent::kFail,
                                       "worker",
                                       result.ok() ? "finished" : ReasonText(result.status())));
    return edit.store().RemoveLease(job.id);
  });
}

absl::Status Dispatch::HandBack(const Lease& lease) {
  return ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(Job job, Fenced(edit.store(), lease));
    --job.attempt;
    QUOTIENT_RETURN_IF_ERROR(edit.Move(&job, JobEvent::kHandBack, "worker", "drained"));
    return edit.store().RemoveLease(job.id);
  });
}

absl::Status Dispatch::Lose(const Lease& lease, const absl::Status& error) {
  return ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(Job job, Fenced(edit.store(), lease));
    return MoveLost(edit, std::move(job), error, "worker", ReasonText(error));
  });
}

absl::Status Dispatch::WhileHeld(const Lease& lease, absl::FunctionRef<absl::Status()> action) {
  return ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    QUOTIENT_RETURN_IF_ERROR(Fenced(edit.store(), lease).status());
    return action();
  });
}

absl::StatusOr<int> Dispatch::RequeueLost() { return TakeBack(std::nullopt); }

absl::StatusOr<int> Dispatch::RecoverAll() { return TakeBack(std::numeric_limits<int64_t>::max()); }

absl::StatusOr<int> Dispatch::TakeBack(std::optional<int64_t> leases_until_ms) {
  int taken = 0;
  std::vector<std::string> given_up;
  QUOTIENT_RETURN_IF_ERROR(ledger_.Write([&](Ledger::Edit& edit) -> absl::Status {
    JobTransaction& store = edit.store();
    const int64_t until = leases_until_ms.value_or(store.now_ms());
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Lease> leases, store.LeasesUntil(until));
    for (const Lease& lease : leases) {
      QUOTIENT_ASSIGN_OR_RETURN(Job job, Fenced(store, lease));
      const absl::Status poisoned = MakeError(
          Reason::kPoisoned, absl::StrCat("the worker died on each of ", job.attempt, " attempts"));
      if (IsLastAttempt(job)) {
        given_up.push_back(absl::StrCat("job ", job.id, ": ", poisoned.message()));
      }
      QUOTIENT_RETURN_IF_ERROR(MoveLost(edit, std::move(job), poisoned, "recovery", "lease_lost"));
      ++taken;
    }
    return absl::OkStatus();
  }));
  for (const std::string& line : given_up) Log().error("{}", line);
  return taken;
}

absl::Status Dispatch::MoveLost(Ledger::Edit& edit, Job job, const absl::Status& error,
                                absl::string_view actor, absl::string_view reason) {
  const bool is_last = IsLastAttempt(job);
  if (is_last) job.error = error;
  QUOTIENT_RETURN_IF_ERROR(
      edit.Move(&job, JobEvent::kLose, actor, is_last ? ReasonText(error) : reason));
  return edit.store().RemoveLease(job.id);
}

void Dispatch::WaitForWork(absl::Duration timeout) {
  const auto ready = [this] {
    mutex_.AssertReaderHeld();
    return work_ || interrupted_;
  };
  mutex_.LockWhenWithTimeout(absl::Condition(&ready), timeout);
  mutex_.Unlock();
}

void Dispatch::Interrupt() {
  absl::MutexLock lock(&mutex_);
  interrupted_ = true;
}

void Dispatch::OnTransition(const Job& /*job*/, const Transition& transition) {
  if (transition.to != JobState::kQueued) return;
  absl::MutexLock lock(&mutex_);
  work_ = true;
}

}  // namespace quotient::jobs
