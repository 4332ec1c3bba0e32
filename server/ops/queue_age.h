#pragma once

// For how long the jobs in the queue have waited, without asking the store each time.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "server/jobs/job_store.h"
#include "server/jobs/ledger.h"

namespace quotient::ops {

// Since when each waiting job has waited: the Unix time, in milliseconds, at which it came or came
// back to the queue, by job id.
using WaitingSince = std::map<std::string, int64_t>;

// What the store says of that. Reads all waiting jobs.
absl::StatusOr<WaitingSince> ReadWaitingSince(jobs::JobStore& store);

// Thread-safe.
class QueueAge : public jobs::JobObserver {
 public:
  // Begins with what is in the store, and follows the ledger like JobCounts. Borrows the clock.
  QueueAge(const WaitingSince& waiting, const Clock* clock);

  void OnTransition(const jobs::Job& job, const jobs::Transition& transition) override;
  void OnSetAside(const std::string& id, jobs::JobState state) override;
  // How long the job has waited that has waited for longest; 0 if none waits.
  double OldestSeconds() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Add(const std::string& id, int64_t since_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;

  mutable absl::Mutex mutex_;
  // The same jobs, by id and by time.
  absl::flat_hash_map<std::string, int64_t> since_ms_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<int64_t, std::string>> oldest_first_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::ops
