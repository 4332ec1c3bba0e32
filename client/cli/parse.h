#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "client/cli/command_table.h"
#include "client/cli/settings.h"

namespace quotient::cli {

// Reads what follows the command's name: "--name value", "--name=value", "-o value", positionals in
// between, "--" before positionals that begin with a dash. OPTION_INVALID naming the argument.
absl::StatusOr<Settings> ParseArguments(const Command& command,
                                        std::span<const char* const> arguments);

}  // namespace quotient::cli
