#pragma once

// The watch hub passes news of jobs to their watchers: every change of state, the latest progress
// only, and a heartbeat when nothing happens. A slow watcher therefore only occupies memory for the
// few transitions of one job.
//
//   auto watch = hub.Subscribe(job_id, options, [] { /* wake somebody who calls Next() */ });
//   while (auto update = watch->Next()) Send(*update);

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/base/progress.h"
#include "server/jobs/ledger.h"

namespace quotient::jobs {

struct Heartbeat {};
using WatchUpdate = std::variant<Transition, Progress, Heartbeat>;

struct WatchOptions {
  int64_t min_interval_ms = 200;  // Least time between two progress updates.
  int64_t heartbeat_ms = 15'000;  // A heartbeat is due after this time without an update.
};

class WatchHub;

// One watcher of one job. Thread-safe. After its destruction the wake function is not called any
// more. It must not be destroyed from within its own wake function.
class Watch {
 public:
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Returns an update that is due, transitions before progress before heartbeats; nothing if none
  // is due.
  std::optional<WatchUpdate> Next();
  // Whether the hub was closed, so that no more news will come; see WatchHub::Close.
  bool closed() const;

 private:
  friend class WatchHub;
  struct State;
  Watch(WatchHub* hub, std::shared_ptr<State> state) : hub_(*hub), state_(std::move(state)) {}

  WatchHub& hub_;
  const std::shared_ptr<State> state_;
};

// Thread-safe.
class WatchHub : public JobObserver {
 public:
  explicit WatchHub(const Clock* clock) : clock_(*clock) {}
  // All watches must have been destroyed. The lock waits for the thread that removed the last one,
  // which may still be in Remove.
  ~WatchHub() override { absl::MutexLock lock(&mutex_); }

  // `wake` is called, on any thread, when Next may have something new. It may call Next.
  std::unique_ptr<Watch> Subscribe(absl::string_view job_id, const WatchOptions& options,
                                   std::function<void()> wake);

  // Passes on what the holder of a lease reports. Ignored unless the job runs under this lease: a
  // worker that has lost it may not know yet.
  void PublishProgress(const Lease& lease, const Progress& progress);
  // Returns the latest progress of a running job; nothing if it has not reported any.
  std::optional<Progress> LatestProgress(absl::string_view job_id) const;

  void OnTransition(const Job& job, const Transition& transition) override;

  // Wakes watchers for whom an update has become due by the passing of time. To be called a few
  // times a second.
  void Tick();

  // Marks the hub as closed, because the server is about to stop, and wakes all watchers.
  void Close();

  int watchers() const;

 private:
  friend class Watch;
  using States = std::vector<std::shared_ptr<Watch::State>>;

  struct Topic {
    int64_t epoch = 0;  // The epoch of the lease under which the job runs; 0 if it does not run.
    std::optional<Progress> progress;
    int64_t progress_version = 0;
    States watches;
  };

  static void Wake(const States& states);
  bool Due(const Topic& topic, const Watch::State& state, int64_t now_ms) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<WatchUpdate> Next(Watch::State& state);
  void Remove(const std::shared_ptr<Watch::State>& state);
  int64_t NowMs() const { return clock_.NowNs() / 1'000'000; }

  const Clock& clock_;

  mutable absl::Mutex mutex_;
  // By job id: the jobs that run or are watched.
  absl::flat_hash_map<std::string, Topic> topics_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace quotient::jobs
