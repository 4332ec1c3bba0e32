#pragma once

#include "absl/status/status.h"

namespace quotient::cli {

// What the program's exit code tells scripts.
enum ExitCode : int {
  kExitDone = 0,
  kExitUsage = 2,
  kExitModelRefused = 3,
  kExitServer = 4,
  kExitNoResult = 5,  // deadline or cancellation
};

// The only place that decides: by the reason that a status carries, else by its code.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace quotient::cli
