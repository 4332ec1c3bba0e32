#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::cli {

// Returns the completion script for "bash", "zsh" or "fish", or OPTION_INVALID for another shell.
absl::StatusOr<std::string> CompletionScript(absl::string_view shell);

}  // namespace quotient::cli
