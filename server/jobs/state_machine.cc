#include "server/jobs/state_machine.h"

namespace quotient::jobs {
namespace {

std::optional<JobState> FromRunning(JobEvent event, bool attempts_left) {
  switch (event) {
    case JobEvent::kClaim:
    case JobEvent::kExpire:
      return std::nullopt;
    case JobEvent::kSucceed:
      return JobState::kSucceeded;
    case JobEvent::kFail:
      return JobState::kFailed;
    case JobEvent::kCancel:
      return JobState::kCancelling;
    case JobEvent::kLose:
      return attempts_left ? JobState::kQueued : JobState::kFailed;
    case JobEvent::kHandBack:
      return JobState::kQueued;
  }
  return std::nullopt;
}

}  // namespace

std::optional<JobState> NextState(JobState state, JobEvent event, bool attempts_left) {
  switch (state) {
    case JobState::kQueued:
      if (event == JobEvent::kClaim) return JobState::kRunning;
      if (event == JobEvent::kCancel) return JobState::kCancelled;
      if (event == JobEvent::kExpire) return JobState::kFailed;
      return std::nullopt;
    case JobState::kRunning:
      return FromRunning(event, attempts_left);
    case JobState::kCancelling:
      if (event == JobEvent::kClaim || event == JobEvent::kExpire) return std::nullopt;
      if (event == JobEvent::kCancel) return JobState::kCancelling;
      // Whatever the worker's outcome is, nobody wants it any more.
      return JobState::kCancelled;
    case JobState::kSucceeded:
    case JobState::kFailed:
    case JobState::kCancelled:
      if (event == JobEvent::kCancel) return state;
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace quotient::jobs
