#pragma once

// How many jobs are in each state, without asking the store each time.

#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/ledger.h"

namespace quotient::ops {

// Thread-safe.
class JobCounts : public jobs::JobObserver {
 public:
  // Begins with what is in the store. From then on the counts follow the ledger, to which this has
  // to be added as an observer before anything is written.
  explicit JobCounts(const std::map<jobs::JobState, int64_t>& counts) : counts_(counts) {}

  void OnTransition(const jobs::Job& job, const jobs::Transition& transition) override;
  void OnRemoval(const jobs::Job& job, jobs::RemovalCause cause) override;
  void OnSetAside(const std::string& id, jobs::JobState state) override;
  // States without jobs may be left out.
  std::map<jobs::JobState, int64_t> Get() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  std::map<jobs::JobState, int64_t> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::ops
