#pragma once

// The JobRunner of the server: runs each job, and describes each model, in a process of its own
// (quotient-job), which may crash, hang or take all memory. Then the server goes on, and it is
// known which job did it.

#include <memory>

#include "absl/status/status.h"
#include "core/base/clock.h"
#include "server/runner/process_settings.h"
#include "server/worker/job_runner.h"

namespace quotient::runner {

// Borrows the clock, by which silence is measured. Beside what the job's process returns, Run
// returns POISONED if the process has ended without a word, hangs, takes too much memory, goes on
// long after its time is up or has not made what it says, STORAGE_DOWN if the system starts no
// process, and PROGRAM_REPLACED if the program is missing, does not work or is of another build. A
// question (Inspect, Validate, Verify, Replay) that hangs or takes too long gets RUN_BUDGET.
std::unique_ptr<worker::JobRunner> NewProcessRunner(ProcessSettings settings, const Clock* clock);

// Starts the program once, with nothing to do. PROGRAM_REPLACED if it does not work, as for want of
// a library, or is of another build.
absl::Status CheckProgram(ProcessSettings settings, const Clock* clock);

}  // namespace quotient::runner
