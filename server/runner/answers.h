#pragma once

// What the server makes of what the process of a job says. The process has read a model that nobody
// has looked at, so it may say anything: texts are cut to lengths that lists and records of jobs
// have room for, and numbers become such that can be counted.

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/progress.h"
#include "server/jobs/job.h"
#include "server/runner/runner.pb.h"
#include "server/worker/job_runner.h"

namespace quotient::runner {

inline constexpr size_t kMostProgressText = 1 << 10;  // Of each text of a progress.
inline constexpr size_t kMostErrorBytes = 64 << 10;   // Of an error's message.
inline constexpr size_t kMostResultBytes = 64 << 10;  // Of a result with all its texts.
// Of the answer to a question, which is sent to a client. Clients of gRPC accept 4 MiB by default.
inline constexpr size_t kMostAnswerBytes = 3 << 20;

Progress ProgressOf(const quotient::v1::Progress& message);

// Why the process has no answer; OK if it has one.
absl::Status FailureOf(const v1::Ended& ended);

// --- Of a Run that has not failed.

// The result; POISONED if the process has sent none.
absl::StatusOr<jobs::JobResult> ResultOf(const v1::Ended& ended);

// What the run has done. Numbers that no run can have are 0.
v1::Figures FiguresOf(const v1::Ended& ended);

// --- Of a question that has not failed.

// LIMIT_BYTES if the answer is more than clients accept.
absl::Status CheckSize(const v1::Ended& ended);

// What came of a Replay; POISONED if the process has named no model.
absl::StatusOr<worker::Replay> ReplayOf(const v1::Ended& ended);

}  // namespace quotient::runner
