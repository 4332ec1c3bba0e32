#pragma once

// What the server makes of what the process of a job says. The process has read a model that nobody
// has looked at, so it may say anything: texts are cut to lengths that lists and records of jobs
// can have, numbers are such that can be counted.

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/progress.h"
#include "server/jobs/job.h"
#include "server/runner/runner.pb.h"

namespace quotient::runner {

// Of a text of a progress, of an error's message, and of a result with all its texts.
inline constexpr size_t kMostProgressText = 1 << 10;
inline constexpr size_t kMostErrorBytes = 64 << 10;
inline constexpr size_t kMostResultBytes = 64 << 10;

Progress ProgressOf(const quotient::v1::Progress& message);

// Why the process has no answer; OK if it has one.
absl::Status FailureOf(const v1::Ended& ended);

// The result of a run that has not failed; POISONED if the process has sent none.
absl::StatusOr<jobs::JobResult> ResultOf(const v1::Ended& ended);

// What a run has done; numbers that nothing can have done are 0.
v1::Figures FiguresOf(const v1::Ended& ended);

}  // namespace quotient::runner
