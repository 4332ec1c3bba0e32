#pragma once

// The threads that run jobs. Each claims a job, runs it while a LeaseKeeper renews the lease, and
// writes the result. When the pool stops, running jobs are handed back to the queue, and so is a
// job whose result cannot be stored; one that the storage has refused often while it took other
// things fails. The pool stops by itself when a job reports what only a new
// process can remedy: that a device is lost (DEVICE_LOST), or that the files of the server were
// replaced (PROGRAM_REPLACED).

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
#include "core/base/stop_signal.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/dispatch.h"
#include "server/jobs/watch_hub.h"
#include "server/worker/job_runner.h"
#include "server/worker/storage_gate.h"

namespace quotient::worker {

struct PoolSettings {
  // Number of jobs that run at once. With several, jobs disturb each other's kernel timings.
  int workers = 1;
  bool keeps_checkpoints = true;
  absl::Duration renew_interval = absl::Milliseconds(jobs::Dispatch::kLeaseMs / 3);
  // Pause after the job store has refused a result for the first time. It grows up to a limit.
  absl::Duration retry_interval = absl::Seconds(1);
  // Of a job that the storage refuses while it takes other things: the first pause, which doubles
  // up to a limit, and after how many attempts it fails.
  absl::Duration refused_pause = absl::Seconds(1);
  int most_refusals = 10;
};

class WorkerPool : public jobs::JobObserver {
 public:
  // The pool borrows all of these.
  struct Dependencies {
    jobs::Ledger* ledger;
    jobs::Dispatch* dispatch;
    jobs::Checkpoints* checkpoints;
    jobs::WatchHub* hub;
    JobRunner* runner;
    StorageGate* storage;
    const Clock* clock;
    // Called by each worker before it claims jobs, until it succeeds. The storage has failed if it
    // does not.
    std::function<absl::Status()> prepare = [] { return absl::OkStatus(); };
    // Called once, from the thread that calls Fail, when the pool stops by itself. May be empty.
    // Must not call the pool.
    std::function<void()> on_failure = {};
  };

  // Observes the ledger, so that a job hears at once that it is cancelled or to finish.
  WorkerPool(const PoolSettings& settings, const Dependencies& dependencies);
  ~WorkerPool() override { Stop(); }

  void Start();
  // Stops claiming jobs, stops running ones and hands them back. Blocks until all threads have
  // ended.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Stops the pool because of what only a new process can remedy. Signals running jobs to stop, and
  // does not block.
  void Fail(const absl::Status& failure) ABSL_LOCKS_EXCLUDED(mutex_);
  // The first error for which that was done; OK if it was not.
  absl::Status failure() const ABSL_LOCKS_EXCLUDED(mutex_);

  void OnTransition(const jobs::Job& job, const jobs::Transition& transition) override;

 private:
  class Sink;

  void Work(int number);
  void RunOne(const jobs::Claimed& claimed);
  void WriteOutcome(const jobs::Claimed& claimed, const absl::StatusOr<jobs::JobResult>& result);
  // Hands a job back that met a storage that failed, or ends it.
  void WriteRefused(const jobs::Claimed& claimed, const absl::Status& failure)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Stops claiming jobs and signals running ones to stop. Does not block.
  void BeginStop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Repeats `write` while it fails with UNAVAILABLE, unless the pool is stopping, and keeps the
  // lease meanwhile. Returns whether it succeeded.
  bool WriteWithRetry(const jobs::Lease& lease, absl::FunctionRef<absl::Status()> write);
  void Register(CancelToken* token, const std::string& job_id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Unregister(CancelToken* token) ABSL_LOCKS_EXCLUDED(mutex_);

  const PoolSettings settings_;
  const Dependencies dependencies_;

  StopSignal stop_;  // Whether the pool is stopping.
  mutable absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  // Job id of each run in progress. Two runs can have the same job for a while, until the one that
  // has lost the lease notices it.
  absl::flat_hash_map<CancelToken*, std::string> running_ ABSL_GUARDED_BY(mutex_);
  // How often the storage has refused a job, by its id, while it took other things.
  absl::flat_hash_map<std::string, int> refusals_ ABSL_GUARDED_BY(mutex_);

  std::vector<std::jthread> threads_;
};

}  // namespace quotient::worker
