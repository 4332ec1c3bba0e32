#pragma once

// The ledger makes every change of a job's state. A change is checked by the state machine,
// numbered and committed; then observers are told, in the order of the commits. Nobody else waits
// for that.
//
//   ledger.Write([&](Ledger::Edit& edit) -> absl::Status {
//     ...
//     return edit.Move(&job, JobEvent::kCancel, "client", "cancel");
//   });

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/job.h"
#include "server/jobs/job_store.h"
#include "server/jobs/state_machine.h"

namespace quotient::jobs {

enum class Disposition { kNew, kJoined, kCacheHit };
// Why a job that had ended was removed.
enum class RemovalCause { kAge, kSpace, kRequest };

// Is told of committed changes. Calls are serialized, in the order of the commits, and come from a
// thread that writes. They must not call the ledger. While one lasts, others can commit, but nobody
// is told.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void OnTransition(const Job& job, const Transition& transition) = 0;
  virtual void OnSubmission(const Job& /*job*/, Disposition /*disposition*/) {}
  // A job that had ended was removed.
  virtual void OnRemoval(const Job& /*job*/, RemovalCause /*cause*/) {}
  // A job that was in this state has a record that cannot be read, and is left out from now on.
  virtual void OnSetAside(const std::string& /*id*/, JobState /*state*/) {}
};

// Thread-safe.
class Ledger {
 public:
  // A job that is lost in its last attempt fails instead of being queued again.
  static constexpr int kMaxAttempts = 3;

  // A write in progress. Observers are told of its changes after the commit.
  class Edit {
   public:
    JobTransaction& store() { return store_; }
    // Returns the job; nothing if there is none, or if its record cannot be read. Then it is set
    // aside, so that it is not found again.
    absl::StatusOr<std::optional<Job>> FindReadable(const std::string& id);
    // Adds a new job in state QUEUED.
    absl::Status Add(Job* job, absl::string_view actor);
    // Changes the job's state by `event` and stores all fields of the job. Does nothing if the
    // event does not change the state. Returns INTERNAL if the event cannot happen in this state.
    absl::Status Move(Job* job, JobEvent event, absl::string_view actor, absl::string_view reason);
    // Records a transition that leaves the job in its state, and stores all fields of the job.
    absl::Status Note(Job* job, absl::string_view actor, absl::string_view reason);
    // Removes a job that has ended.
    absl::Status Remove(const Job& job, RemovalCause cause);
    // Tells observers of a submission after the commit.
    void Submitted(const Job& job, Disposition disposition);

   private:
    friend class Ledger;
    struct Change {
      Job job;
      Transition transition;
    };

    // What observers are to be told of one commit.
    struct News {
      std::vector<Change> changes;
      std::vector<std::pair<Job, Disposition>> submissions;
      std::vector<std::pair<Job, RemovalCause>> removals;
      std::vector<std::pair<std::string, JobState>> set_aside;
    };

    explicit Edit(JobTransaction& store) : store_(store) {}
    absl::Status Record(Job* job, JobState to, absl::string_view actor, absl::string_view reason);

    JobTransaction& store_;
    News news_;
  };

  explicit Ledger(JobStore* store) : store_(*store) {}

  // Adds an observer of all later writes. Borrowed; must outlive the ledger's last write.
  void AddObserver(JobObserver* observer) ABSL_LOCKS_EXCLUDED(observers_mutex_);

  // When this returns, observers have been told.
  absl::Status Write(absl::FunctionRef<absl::Status(Edit&)> write)
      ABSL_LOCKS_EXCLUDED(commit_mutex_, observers_mutex_, news_mutex_);

  JobStore& store() { return store_; }

 private:
  absl::Status Commit(absl::FunctionRef<absl::Status(Edit&)> write)
      ABSL_LOCKS_EXCLUDED(commit_mutex_, news_mutex_);
  // Tells all news that there are, its own and what others left.
  void TellNews() ABSL_LOCKS_EXCLUDED(observers_mutex_, news_mutex_);
  std::optional<Edit::News> NextNews() ABSL_LOCKS_EXCLUDED(news_mutex_);

  JobStore& store_;

  // Held from a commit until its news are in the queue, so that they are in the order of the
  // commits.
  absl::Mutex commit_mutex_;

  // Held while observers are told, so that they hear of one thing at a time.
  absl::Mutex observers_mutex_;
  std::vector<JobObserver*> observers_ ABSL_GUARDED_BY(observers_mutex_);

  absl::Mutex news_mutex_ ABSL_ACQUIRED_AFTER(commit_mutex_, observers_mutex_);
  std::deque<Edit::News> news_ ABSL_GUARDED_BY(news_mutex_);
};

}  // namespace quotient::jobs
