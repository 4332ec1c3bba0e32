#include "server/ops/job_counts.h"

namespace quotient::ops {

void JobCounts::OnTransition(const jobs::Job& /*job*/, const jobs::Transition& transition) {
  absl::MutexLock lock(&mutex_);
  if (transition.sequence > 1) --counts_[transition.from];  // The first one adds the job.
  ++counts_[transition.to];
}

void JobCounts::OnRemoval(const jobs::Job& job, jobs::RemovalCause /*cause*/) {
  absl::MutexLock lock(&mutex_);
  --counts_[job.state];
}

void JobCounts::OnSetAside(const std::string& /*id*/, jobs::JobState state) {
  absl::MutexLock lock(&mutex_);
  --counts_[state];
}

std::map<jobs::JobState, int64_t> JobCounts::Get() const {
  absl::MutexLock lock(&mutex_);
  return counts_;
}

}  // namespace quotient::ops
