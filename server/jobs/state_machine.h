#pragma once

// The states of a job and the events that change them. Pure functions, without clock or store.
//
//   QUEUED --claim--> RUNNING --succeed--> SUCCEEDED        QUEUED --expire--> FAILED
//     ^  \               | \ ---fail-----> FAILED
//     |   \--cancel--+   |  \--cancel--> CANCELLING --any end--> CANCELLED
//     |              v   |
//     |        CANCELLED |
//     +--lose, hand back-+      (to FAILED if the job is lost in its last attempt)

#include <optional>

#include "server/jobs/job.h"

namespace quotient::jobs {

enum class JobEvent {
  kClaim,     // A worker takes the job.
  kSucceed,   // The worker has a result.
  kFail,      // The worker has an error, which may be CANCELLED.
  kCancel,    // A client cancels the job.
  kExpire,    // The job has waited too long.
  kLose,      // The worker is dead, cut off, or cannot run the job any more.
  kHandBack,  // The worker has to stop, for reasons that have nothing to do with the job.
};

// Returns the state after `event`, or nothing if the event cannot happen in `state`. Returns the
// same state if there is nothing to do (for a second cancel, or a cancel after the end).
// `attempts_left` says whether a lost job may be tried again.
std::optional<JobState> NextState(JobState state, JobEvent event, bool attempts_left);

}  // namespace quotient::jobs
