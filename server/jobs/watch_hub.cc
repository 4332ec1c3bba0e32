#include "server/jobs/watch_hub.h"

#include <utility>

namespace quotient::jobs {

struct Watch::State {
  std::string job_id;
  WatchOptions options;

  // Guarded by the hub's mutex.
  std::deque<Transition> transitions;
  int64_t seen_version = 0;
  int64_t last_progress_ms = 0;
  int64_t last_update_ms = 0;

  // Must not be acquired while the hub's mutex is held, since `wake` may call Next, which acquires
  // the latter.
  absl::Mutex wake_mutex;
  std::function<void()> wake ABSL_GUARDED_BY(wake_mutex);
};

Watch::~Watch() {
  hub_.Remove(state_);
  absl::MutexLock lock(&state_->wake_mutex);
  state_->wake = nullptr;
}

std::optional<WatchUpdate> Watch::Next() { return hub_.Next(*state_); }

bool Watch::closed() const {
  absl::MutexLock lock(&hub_.mutex_);
  return hub_.closed_;
}

std::unique_ptr<Watch> WatchHub::Subscribe(absl::string_view job_id, const WatchOptions& options,
                                           std::function<void()> wake) {
  auto state = std::make_shared<Watch::State>();
  state->job_id = std::string(job_id);
  state->options = options;
  state->last_update_ms = NowMs();
  state->last_progress_ms = state->last_update_ms - options.min_interval_ms;
  {
    absl::MutexLock lock(&state->wake_mutex);
    state->wake = std::move(wake);
  }
  absl::MutexLock lock(&mutex_);
  topics_[job_id].watches.push_back(state);
  return std::unique_ptr<Watch>(new Watch(this, std::move(state)));
}

void WatchHub::PublishProgress(const Lease& lease, const Progress& progress) {
  States states;
  {
    absl::MutexLock lock(&mutex_);
    const auto topic = topics_.find(lease.job_id);
    if (topic == topics_.end() || topic->second.epoch != lease.epoch) return;
    topic->second.progress = progress;
    ++topic->second.progress_version;
    states = topic->second.watches;
  }
  Wake(states);
}

std::optional<Progress> WatchHub::LatestProgress(absl::string_view job_id) const {
  absl::MutexLock lock(&mutex_);
  const auto topic = topics_.find(job_id);
  if (topic == topics_.end()) return std::nullopt;
  return topic->second.progress;
}

void WatchHub::OnTransition(const Job& job, const Transition& transition) {
  States states;
  {
    absl::MutexLock lock(&mutex_);
    Topic& topic = topics_[job.id];
    if (transition.to != transition.from && transition.to != JobState::kCancelling) {
      topic.epoch = transition.to == JobState::kRunning ? job.lease_epoch : 0;
      topic.progress.reset();
    }
    for (const auto& state : topic.watches) state->transitions.push_back(transition);
    states = topic.watches;
    if (states.empty() && topic.epoch == 0) topics_.erase(job.id);
  }
  Wake(states);
}

void WatchHub::Tick() {
  States states;
  {
    absl::MutexLock lock(&mutex_);
    const int64_t now_ms = NowMs();
    for (const auto& [job_id, topic] : topics_) {
      for (const auto& state : topic.watches) {
        if (Due(topic, *state, now_ms)) states.push_back(state);
      }
    }
  }
  Wake(states);
}

void WatchHub::Close() {
  States states;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    for (const auto& [job_id, topic] : topics_) {
      states.insert(states.end(), topic.watches.begin(), topic.watches.end());
    }
  }
  Wake(states);
}

int WatchHub::watchers() const {
  absl::MutexLock lock(&mutex_);
  int count = 0;
  for (const auto& [job_id, topic] : topics_) count += static_cast<int>(topic.watches.size());
  return count;
}

void WatchHub::Wake(const States& states) {
  for (const auto& state : states) {
    absl::MutexLock lock(&state->wake_mutex);
    if (state->wake) state->wake();
  }
}

bool WatchHub::Due(const Topic& topic, const Watch::State& state, int64_t now_ms) const {
  const bool progress = topic.progress.has_value() && state.seen_version < topic.progress_version &&
                        now_ms - state.last_progress_ms >= state.options.min_interval_ms;
  return progress || now_ms - state.last_update_ms >= state.options.heartbeat_ms;
}

std::optional<WatchUpdate> WatchHub::Next(Watch::State& state) {
  absl::MutexLock lock(&mutex_);
  const int64_t now_ms = NowMs();
  if (!state.transitions.empty()) {
    WatchUpdate update = std::move(state.transitions.front());
    state.transitions.pop_front();
    state.last_update_ms = now_ms;
    return update;
  }
  const auto topic = topics_.find(state.job_id);
  if (topic == topics_.end() || !Due(topic->second, state, now_ms)) return std::nullopt;
  state.last_update_ms = now_ms;
  if (topic->second.progress.has_value() && state.seen_version < topic->second.progress_version) {
    state.seen_version = topic->second.progress_version;
    state.last_progress_ms = now_ms;
    return *topic->second.progress;
  }
  return Heartbeat{};
}

void WatchHub::Remove(const std::shared_ptr<Watch::State>& state) {
  absl::MutexLock lock(&mutex_);
  const auto topic = topics_.find(state->job_id);
  if (topic == topics_.end()) return;
  std::erase(topic->second.watches, state);
  if (topic->second.watches.empty() && topic->second.epoch == 0) topics_.erase(topic);
}

}  // namespace quotient::jobs
