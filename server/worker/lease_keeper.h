#pragma once

// Keeps a running job's lease alive from a thread of its own, so that the job itself never has to.

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/stop.h"
#include "server/jobs/dispatch.h"

namespace quotient::worker {

class LeaseKeeper {
 public:
  // Renews at once, and then every `interval`. Sets `token` when the job is to end: it was
  // cancelled, or the lease is lost. Borrows both.
  LeaseKeeper(jobs::Dispatch* dispatch, const jobs::Lease& lease, absl::Duration interval,
              CancelToken* token);
  ~LeaseKeeper();

  // Ends renewing. Returns whether the lease still holds; if not, the job belongs to another.
  bool Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // False when there is nothing left to keep.
  bool RenewOnce() ABSL_LOCKS_EXCLUDED(mutex_);

  jobs::Dispatch& dispatch_;
  const jobs::Lease lease_;
  const absl::Duration interval_;
  CancelToken& token_;

  absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;

  std::jthread thread_;  // last: uses all of the above
};

}  // namespace quotient::worker
