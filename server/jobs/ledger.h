#pragma once

// The ledger makes every change of a job's state. A change is checked by the state machine,
// numbered and committed; then observers are told, in the order of the commits.
//
//   ledger.Write([&](Ledger::Edit& edit) -> absl::Status {
//     ...
//     return edit.Move(&job, JobEvent::kCancel, "client", "cancel");
//   });

#include <string>
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

// Is told of committed changes. Calls are serialized and come from the thread that wrote. They must
// not block and must not call the ledger.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void OnTransition(const Job& job, const Transition& transition) = 0;
  virtual void OnSubmission(const Job& /*job*/, Disposition /*disposition*/) {}
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
    // Adds a new job in state QUEUED.
    absl::Status Add(Job* job, absl::string_view actor);
    // Changes the job's state by `event` and stores all fields of the job. Does nothing if the
    // event does not change the state. Returns INTERNAL if the event cannot happen in this state.
    absl::Status Move(Job* job, JobEvent event, absl::string_view actor, absl::string_view reason);
    // Tells observers of a submission after the commit.
    void Submitted(const Job& job, Disposition disposition);

   private:
    friend class Ledger;
    struct Change {
      Job job;
      Transition transition;
    };

    explicit Edit(JobTransaction& store) : store_(store) {}
    absl::Status Record(Job* job, JobState to, absl::string_view actor, absl::string_view reason);

    JobTransaction& store_;
    std::vector<Change> changes_;
    std::vector<std::pair<Job, Disposition>> submissions_;
  };

  explicit Ledger(JobStore* store) : store_(*store) {}

  // Adds an observer of all later writes. Borrowed; must outlive the ledger's last write.
  void AddObserver(JobObserver* observer);

  absl::Status Write(absl::FunctionRef<absl::Status(Edit&)> write) ABSL_LOCKS_EXCLUDED(mutex_);

  JobStore& store() { return store_; }

 private:
  JobStore& store_;

  // Held during commit and notification, so that observers see changes in the order of the commits.
  absl::Mutex mutex_;
  std::vector<JobObserver*> observers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::jobs
