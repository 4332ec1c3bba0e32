#include "server/worker/worker_pool.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/os/fault_point.h"
#include "server/config/log_format.h"
#include "server/worker/lease_keeper.h"
#include "server/worker/leased_checkpoint.h"

namespace quotient::worker {
namespace {

// Idle workers look for work at this interval even without a wake-up.
constexpr absl::Duration kPoll = absl::Seconds(5);
// Between two attempts to write a result. Shorter than a lease, which is renewed before each.
constexpr absl::Duration kLongestRetry = absl::Milliseconds(jobs::Dispatch::kLeaseMs / 3);

// Between two attempts of a job that the storage refuses.
constexpr absl::Duration kLongestRefusedPause = absl::Minutes(5);

// Returns the log level for a job's outcome. Refused models and cancelled jobs are routine. A
// missing device or file is a warning, since it may be the client's mistake or the operator's.
// Everything else is a fault of the server or its machine.
spdlog::level::level_enum LevelOf(const absl::Status& outcome) {
  switch (outcome.code()) {
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
      return spdlog::level::info;
    case absl::StatusCode::kFailedPrecondition:
      return spdlog::level::warn;
    default:
      return spdlog::level::err;
  }
}

void LogOutcome(const std::string& job_id, const absl::Status& outcome, double seconds) {
  if (outcome.ok()) {
    Log().info("job {}: finished after {:.1f} s", job_id, seconds);
  } else {
    Log().log(LevelOf(outcome), "job {}: no result after {:.1f} s: {}", job_id, seconds,
              Escaped(outcome.message()));
  }
}

}  // namespace

class WorkerPool::Sink : public ProgressSink {
 public:
  Sink(jobs::WatchHub* hub, jobs::Lease lease) : hub_(*hub), lease_(std::move(lease)) {}
  void Report(const Progress& progress) override { hub_.PublishProgress(lease_, progress); }

 private:
  jobs::WatchHub& hub_;
  const jobs::Lease lease_;
};

WorkerPool::WorkerPool(const PoolSettings& settings, const Dependencies& dependencies)
    : settings_(settings), dependencies_(dependencies) {
  dependencies_.ledger->AddObserver(this);
}

void WorkerPool::Start() {
  for (int i = 0; i < settings_.workers; ++i) threads_.emplace_back([this, i] { Work(i); });
}

void WorkerPool::Stop() {
  BeginStop();
  threads_.clear();
}

void WorkerPool::BeginStop() {
  // Comes first, so that a job that is registered after the loop is cancelled, too.
  stop_.Set();
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [token, job_id] : running_) token->Cancel();
  }
  dependencies_.dispatch->Interrupt();
}

void WorkerPool::Fail(const absl::Status& failure) {
  {
    absl::MutexLock lock(&mutex_);
    if (!failure_.ok()) return;
    failure_ = failure;
  }
  Log().critical("no more jobs are run: {}", std::string(failure.message()));
  BeginStop();
  if (dependencies_.on_failure) dependencies_.on_failure();
}

absl::Status WorkerPool::failure() const {
  absl::MutexLock lock(&mutex_);
  return failure_;
}

void WorkerPool::OnTransition(const jobs::Job& job, const jobs::Transition& transition) {
  const bool is_cancelled = transition.to == jobs::JobState::kCancelling;
  absl::MutexLock lock(&mutex_);
  if (IsTerminal(transition.to)) refusals_.erase(job.id);
  if (!is_cancelled && !job.stop_requested) return;
  for (const auto& [token, job_id] : running_) {
    if (job_id != job.id) continue;
    if (is_cancelled) token->Cancel();
    if (job.stop_requested) token->Finish(*dependencies_.clock);
  }
}

void WorkerPool::Work(int number) {
  const std::string name = absl::StrCat("worker ", number);
  bool is_prepared = false;
  while (!stop_.is_set()) {
    if (const absl::Duration closed = dependencies_.storage->Closed();
        closed > absl::ZeroDuration()) {
      stop_.AwaitFor(closed);
      continue;
    }
    if (!is_prepared) {
      const absl::Status prepared = dependencies_.prepare();
      is_prepared = prepared.ok();
      if (!is_prepared) {
        dependencies_.storage->Failed(Annotate(prepared, "interrupted jobs are not taken up"));
        continue;
      }
    }
    const absl::StatusOr<std::optional<jobs::Claimed>> claimed =
        dependencies_.dispatch->Claim(name);
    if (!claimed.ok()) {
      dependencies_.storage->Failed(Annotate(claimed.status(), "no job claimed"));
    } else if (!claimed->has_value()) {
      dependencies_.storage->NothingToStore();
      dependencies_.dispatch->WaitForWork(kPoll);
    } else {
      RunOne(**claimed);
    }
  }
}

void WorkerPool::RunOne(const jobs::Claimed& claimed) {
  const jobs::Job& job = claimed.job;
  const config::LogScope scope({.job = job.id, .trace = job.trace_id});
  Log().info("job {}: attempt {} of model '{}'", job.id, job.attempt, Escaped(job.spec.model_name));
  const int64_t start_ns = dependencies_.clock->NowNs();
  CancelToken token;
  if (job.stop_requested) token.Finish(*dependencies_.clock);
  Register(&token, job.id);
  // The keeper renews at once, and so also sees what was ordered before Register.
  LeaseKeeper keeper(dependencies_.dispatch, claimed.lease, settings_.renew_interval, &token);
  Sink sink(dependencies_.hub, claimed.lease);
  LeasedCheckpoint checkpoint(dependencies_.checkpoints, claimed.lease);
  const absl::StatusOr<jobs::JobResult> result = dependencies_.runner->Run(
      job, token, &sink, settings_.keeps_checkpoints ? &checkpoint : nullptr);
  os::FaultPoint("worker.ran");
  const bool ours = keeper.Stop();
  Unregister(&token);
  const double seconds = dependencies_.clock->SecondsSince(start_ns);
  if (stop_.is_set() && absl::IsCancelled(result.status())) {
    Log().info("job {}: handed back to the queue after {:.1f} s", job.id, seconds);
  } else {
    LogOutcome(job.id, result.status(), seconds);
  }
  if (ours) WriteOutcome(claimed, result);
}

void WorkerPool::WriteOutcome(const jobs::Claimed& claimed,
                              const absl::StatusOr<jobs::JobResult>& result) {
  jobs::Dispatch& dispatch = *dependencies_.dispatch;
  const jobs::Lease& lease = claimed.lease;
  const std::optional<Reason> reason = GetReason(result.status());
  if (reason == Reason::kDeviceLost) {
    Fail(result.status());  // Comes first, so that this process does not claim the job again.
    WriteWithRetry(lease,
                   [&] { return dispatch.Lose(lease, ReasonName(*reason), result.status()); });
  } else if (reason == Reason::kProgramReplaced) {
    Fail(result.status());
    WriteWithRetry(lease, [&] { return dispatch.HandBack(lease, "drained"); });
  } else if (reason == Reason::kPoisoned) {
    WriteWithRetry(lease, [&] { return dispatch.Lose(lease, "process_died", result.status()); });
  } else if (reason == Reason::kStorageDown) {
    WriteRefused(claimed, result.status());
  } else if (stop_.is_set() && absl::IsCancelled(result.status())) {
    WriteWithRetry(lease, [&] { return dispatch.HandBack(lease, "drained"); });
  } else if (WriteWithRetry(lease, [&] { return dispatch.Finish(lease, result); }) && result.ok()) {
    dependencies_.storage->Stored();
  }
}

void WorkerPool::WriteRefused(const jobs::Claimed& claimed, const absl::Status& failure) {
  jobs::Dispatch& dispatch = *dependencies_.dispatch;
  const jobs::Lease& lease = claimed.lease;
  if (!dependencies_.storage->TakesSome()) {
    // Comes first: the job is claimed again after a pause, and goes on from its checkpoint.
    dependencies_.storage->Failed(failure);
    WriteWithRetry(lease, [&] { return dispatch.HandBack(lease, "storage_down"); });
    return;
  }
  int refusals = 0;
  {
    absl::MutexLock lock(&mutex_);
    refusals = ++refusals_[lease.job_id];
  }
  if (refusals < settings_.most_refusals) {
    const absl::Duration pause =
        std::min(settings_.refused_pause * (int64_t{1} << (refusals - 1)), kLongestRefusedPause);
    WriteWithRetry(lease, [&] { return dispatch.HandBack(lease, "storage_down", pause); });
    return;
  }
  const absl::Status error =
      Annotate(failure, absl::StrCat("the storage took nothing of this job in ", refusals,
                                     " attempts, while it took other things"));
  WriteWithRetry(lease, [&] { return dispatch.Finish(lease, error); });
}

bool WorkerPool::WriteWithRetry(const jobs::Lease& lease, absl::FunctionRef<absl::Status()> write) {
  absl::Duration pause = settings_.retry_interval;
  for (;;) {
    const absl::Status status = write();
    if (status.ok()) return true;
    if (!absl::IsUnavailable(status)) {
      Log().error("job {}: {}", lease.job_id, std::string(status.message()));
      return false;
    }
    dependencies_.storage->Failed(Annotate(status, absl::StrCat("job ", lease.job_id)));
    // If the pool stops, the next process takes the job up again, and the attempt does not count.
    if (stop_.AwaitFor(pause)) return false;
    pause = std::min(2 * pause, kLongestRetry);
    dependencies_.dispatch->Renew(lease).IgnoreError();
  }
}

void WorkerPool::Register(CancelToken* token, const std::string& job_id) {
  absl::MutexLock lock(&mutex_);
  running_[token] = job_id;
  if (stop_.is_set()) token->Cancel();
}

void WorkerPool::Unregister(CancelToken* token) {
  absl::MutexLock lock(&mutex_);
  running_.erase(token);
}

}  // namespace quotient::worker
