#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::cli {

// The completion script for "bash", "zsh" or "fish". OPTION_INVALID for another shell.
absl::StatusOr<std::string> CompletionScript(absl::string_view shell);

}  // namespace quotient::cli
