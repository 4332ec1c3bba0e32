#include "server/ops/queue_age.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/status_macros.h"

namespace quotient::ops {
namespace {

using jobs::JobState;

// Whether a transition puts its job into the queue. The first one of a job, which adds it, is from
// kQueued, too; others from kQueued to kQueued are notes.
bool Enters(const jobs::Transition& transition) {
  return transition.to == JobState::kQueued &&
         (transition.from != JobState::kQueued || transition.sequence == 1);
}

}  // namespace

absl::StatusOr<WaitingSince> ReadWaitingSince(jobs::JobStore& store) {
  WaitingSince waiting;
  std::vector<std::string> returned;  // Jobs that came back to the queue, after an attempt.
  const jobs::ListQuery query{.filter = {.state = JobState::kQueued},
                              .limit = std::numeric_limits<int>::max()};
  QUOTIENT_RETURN_IF_ERROR(store.List(query, [&](int64_t /*number*/, const jobs::Job& job) {
    waiting[job.id] = job.create_ms;
    if (job.lease_epoch > 0) returned.push_back(job.id);
    return true;
  }));
  for (const std::string& id : returned) {
    QUOTIENT_ASSIGN_OR_RETURN(const auto history, store.History(id, /*after_sequence=*/0));
    for (const jobs::Transition& transition : history) {
      if (Enters(transition)) waiting[id] = transition.time_ms;
    }
  }
  return waiting;
}

QueueAge::QueueAge(const WaitingSince& waiting, const Clock* clock) : clock_(*clock) {
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, since_ms] : waiting) Add(id, since_ms);
}

void QueueAge::OnTransition(const jobs::Job& job, const jobs::Transition& transition) {
  absl::MutexLock lock(&mutex_);
  if (Enters(transition)) {
    Remove(job.id);
    Add(job.id, transition.time_ms);
  } else if (transition.to != JobState::kQueued) {
    Remove(job.id);
  }
}

void QueueAge::OnSetAside(const std::string& id, JobState /*state*/) {
  absl::MutexLock lock(&mutex_);
  Remove(id);
}

double QueueAge::OldestSeconds() const {
  const int64_t now_ms = clock_.UnixMs();
  absl::MutexLock lock(&mutex_);
  if (oldest_first_.empty()) return 0;
  // Somebody may have set the clock back.
  return 1e-3 * static_cast<double>(std::max<int64_t>(0, now_ms - oldest_first_.begin()->first));
}

void QueueAge::Add(const std::string& id, int64_t since_ms) {
  since_ms_[id] = since_ms;
  oldest_first_.emplace(since_ms, id);
}

void QueueAge::Remove(const std::string& id) {
  const auto found = since_ms_.find(id);
  if (found == since_ms_.end()) return;
  oldest_first_.erase({found->second, id});
  since_ms_.erase(found);
}

}  // namespace quotient::ops
