#pragma once

// A job from its beginning to its end, in this process or on a server: for commands that wait for
// its result.

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "client/cli/output.h"
#include "client/cli/settings.h"
#include "client/cpp/interrupt.h"
#include "client/cpp/model_files.h"

namespace quotient::cli {

// What a command does with the result of a job.
using UseResult = absl::FunctionRef<absl::Status(ResultSource& result)>;

// Optimizes the model, shows the progress, and hands the result to `use`. Returns what that does.
absl::Status RunJob(const client::LocalModel& model, const Settings& settings,
                    client::Interrupt* interrupt, UseResult use);

}  // namespace quotient::cli
