#pragma once

// Every change of a job's state is made here: checked by the state machine, numbered, committed,
// and only then told to observers, in the order of the commits.
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

// Hears what was committed. Called one at a time, by whichever thread wrote; must not block and
// must not call back into the ledger.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void OnTransition(const Job& job, const Transition& transition) = 0;
  virtual void OnSubmission(const Job& /*job*/, Disposition /*disposition*/) {}
};

// Thread-safe.
class Ledger {
 public:
  // A job lost this often is given up.
  static constexpr int kMaxAttempts = 3;

  // A write in progress.
  class Edit {
   public:
    JobTransaction& store() { return store_; }
    // Adds a new job, in state QUEUED.
    absl::Status Add(Job* job, absl::string_view actor);
    // Moves the job by `event` and stores it; its other fields as well. Does nothing if the state
    // machine has it stay. INTERNAL if the event cannot happen.
    absl::Status Move(Job* job, JobEvent event, absl::string_view actor, absl::string_view reason);
    // To be told to observers after the commit.
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

  // Hears of the writes from now on. Borrowed; must outlive the ledger's last write.
  void AddObserver(JobObserver* observer);

  absl::Status Write(absl::FunctionRef<absl::Status(Edit&)> write) ABSL_LOCKS_EXCLUDED(mutex_);

  JobStore& store() { return store_; }

 private:
  JobStore& store_;

  // Held across commit and notification, so that observers see the order of the commits.
  absl::Mutex mutex_;
  std::vector<JobObserver*> observers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::jobs
