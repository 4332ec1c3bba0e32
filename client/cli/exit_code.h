#pragma once

#include "absl/status/status.h"

namespace quotient::cli {

// Exit codes of the program, for scripts. Documented in client/README.md and in the help.
enum ExitCode : int {
  kExitDone = 0,
  // `check` or `verify` compared two models that are not the same; `validate` found one that a job
  // would return as it came; by the journal of `replay` its result does not follow from the model;
  // `--journal` asked for the journal of a result that has none.
  kExitNo = 1,
  kExitUsage = 2,
  kExitModelRefused = 3,
  kExitServer = 4,
  kExitNoResult = 5,  // Deadline or cancellation.
  kExitTooSmall = 6,  // The result gains less than --require-improvement demands.
  kExitLock = 7,      // The lock file is missing, or pins something else.
};

// Returns the exit code for a status, by its reason if it has one, else by its code. Exit codes of
// failed commands are decided only here.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace quotient::cli
