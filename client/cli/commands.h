#pragma once

// The commands. Each prints its result to standard output and returns the status that determines
// the exit code. Errors are printed by the caller.

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/exit_code.h"
#include "client/cli/settings.h"
#include "client/cpp/interrupt.h"

namespace quotient::cli {

absl::Status RunOptimize(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunExplain(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunSubmit(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunWatch(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunResult(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunCancel(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunStop(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunDelete(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunJobs(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunInspect(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunProfile(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunSnapshot(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunBisect(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunRules(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunSimplify(const Settings& settings, client::Interrupt* interrupt);
// The exit code tells whether the models are the same.
absl::StatusOr<ExitCode> RunCheck(const Settings& settings, client::Interrupt* interrupt);
absl::StatusOr<ExitCode> RunVerify(const Settings& settings, client::Interrupt* interrupt);
absl::StatusOr<ExitCode> RunReplay(const Settings& settings, client::Interrupt* interrupt);
// The exit code tells whether a job would look for a faster model.
absl::StatusOr<ExitCode> RunValidate(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunVersion(const Settings& settings, client::Interrupt* interrupt);
absl::Status RunCompletion(const Settings& settings, client::Interrupt* interrupt);

}  // namespace quotient::cli
