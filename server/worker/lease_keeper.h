#pragma once

// LeaseKeeper renews the lease of a running job from its own thread, so that the code that runs the
// job need not.

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/stop.h"
#include "core/base/stop_signal.h"
#include "server/jobs/dispatch.h"

namespace quotient::worker {

class LeaseKeeper {
 public:
  // Renews at once, and then every `interval`. Sets `token` when the job should end, because it was
  // cancelled or the lease was lost, or should finish. Borrows `dispatch` and `token`.
  LeaseKeeper(jobs::Dispatch* dispatch, const jobs::Lease& lease, absl::Duration interval,
              CancelToken* token);
  ~LeaseKeeper();

  // Stops renewing and joins the thread. Returns false if the lease was found to be lost, so that
  // another worker may have the job.
  bool Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run();
  // Returns false if the lease is lost.
  bool RenewOnce() ABSL_LOCKS_EXCLUDED(mutex_);

  jobs::Dispatch& dispatch_;
  const jobs::Lease lease_;
  const absl::Duration interval_;
  CancelToken& token_;

  StopSignal stop_;
  absl::Mutex mutex_;
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;

  std::jthread thread_;  // Declared last: uses all of the above.
};

}  // namespace quotient::worker
