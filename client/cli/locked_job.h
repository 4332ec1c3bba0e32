#pragma once

// A job whose result a lock file pins (--lock): from the cache, or as RunJob.

#include "absl/status/status.h"
#include "client/cli/run_job.h"
#include "client/cli/settings.h"
#include "client/cpp/interrupt.h"
#include "client/cpp/model_files.h"

namespace quotient::cli {

// Hands the result that --lock pins to `use`: that of the cache if it has it, and else that of a
// job with the same engine, which has to have the same bytes. With --update-lock runs the job
// whatever the file says, and writes the file when `use` has succeeded. Errors besides those of a
// job and of `use`: LOCK_MISSING, LOCK_INVALID; LOCK_DIFFERS for another model, other options,
// another engine or another result.
absl::Status RunLockedJob(const client::LocalModel& model, const Settings& settings,
                          client::Interrupt* interrupt, UseResult use);

}  // namespace quotient::cli
