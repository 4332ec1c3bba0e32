#pragma once

// What may become of a job. Pure: no time, no store.
//
//   QUEUED --claim--> RUNNING --succeed--> SUCCEEDED
//     ^  \               | \ ---fail-----> FAILED
//     |   \--cancel--+   |  \--cancel--> CANCELLING --any end--> CANCELLED
//     |              v   |
//     |        CANCELLED |
//     +--lose, hand back-+      (lose on the last attempt: FAILED, POISONED)

#include <optional>

#include "server/jobs/job.h"

namespace quotient::jobs {

enum class JobEvent {
  kClaim,     // a worker takes it
  kSucceed,   // the worker has a result
  kFail,      // the worker has an error, CANCELLED among them
  kCancel,    // a client asks for the end
  kLose,      // the worker is dead or cut off
  kHandBack,  // the worker has to stop for reasons of its own
};

// The state after `event`. Nothing if the event cannot happen in `state`. Staying in the same
// state means that there is nothing to do (a second cancel, a cancel after the end).
// `attempts_left`: whether a lost job may be tried again.
std::optional<JobState> NextState(JobState state, JobEvent event, bool attempts_left);

}  // namespace quotient::jobs
