#pragma once

// The threads that run jobs: claim, run under a lease, finish. When the pool stops, running jobs
// are handed back to the queue. It stops by itself when a job finds that a device is lost: then
// only a new process can go on.

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/clock.h"
#include "core/base/stop.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/dispatch.h"
#include "server/jobs/watch_hub.h"
#include "server/worker/job_runner.h"

namespace quotient::worker {

struct PoolSettings {
  int workers = 1;              // jobs at once; kernels of two jobs disturb each other's timings
  std::string owner = "local";  // in leases, for people
  double max_job_seconds = 3600;
  double checkpoint_seconds = 30;  // between two checkpoints of a job; 0: none are made or used
  absl::Duration renew_interval = absl::Milliseconds(jobs::Dispatch::kLeaseMs / 3);
  absl::Duration retry_interval = absl::Seconds(1);  // when the store is in trouble
};

class WorkerPool : public jobs::JobObserver {
 public:
  // All borrowed.
  struct Dependencies {
    jobs::Ledger* ledger;
    jobs::Dispatch* dispatch;
    jobs::Checkpoints* checkpoints;
    jobs::WatchHub* hub;
    JobRunner* runner;
    const Clock* clock;
    // Called once, from a worker's thread, when the pool has stopped by itself; may be empty. Must
    // not call the pool.
    std::function<void()> on_failure = {};
  };

  // Observes the ledger, to pass cancellations on at once.
  WorkerPool(const PoolSettings& settings, const Dependencies& dependencies);
  ~WorkerPool() override { Stop(); }

  void Start();
  // Claims no more, stops what runs and hands it back; blocks until all threads have ended.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Why it has stopped by itself; OK if it has not.
  absl::Status failure() const ABSL_LOCKS_EXCLUDED(mutex_);

  void OnTransition(const jobs::Job& job, const jobs::Transition& transition) override;

 private:
  class Sink;

  void Work();
  void RunOne(const jobs::Claimed& claimed);
  void Settle(const jobs::Lease& lease, const absl::StatusOr<jobs::JobResult>& result);
  // Claims no more, and stops what runs. Does not block.
  void BeginStop() ABSL_LOCKS_EXCLUDED(mutex_);
  void Fail(const absl::Status& failure) ABSL_LOCKS_EXCLUDED(mutex_);
  // Repeats `write` while the store is down and the pool is not stopping.
  void WriteWithRetry(const jobs::Lease& lease, absl::FunctionRef<absl::Status()> write);
  void Register(CancelToken* token, const std::string& job_id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Unregister(CancelToken* token) ABSL_LOCKS_EXCLUDED(mutex_);
  bool stopping() const ABSL_LOCKS_EXCLUDED(mutex_);
  // True if the pool stopped meanwhile.
  bool Pause(absl::Duration duration) ABSL_LOCKS_EXCLUDED(mutex_);

  const PoolSettings settings_;
  const Dependencies dependencies_;

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  // The job of each run. Two runs can have one job for a while: the one that lost the lease has to
  // notice first.
  absl::flat_hash_map<CancelToken*, std::string> running_ ABSL_GUARDED_BY(mutex_);

  std::vector<std::jthread> threads_;
};

}  // namespace quotient::worker
