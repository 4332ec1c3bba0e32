#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "client/cli/command_table.h"
#include "client/cli/settings.h"

namespace quotient::cli {

// Parses the arguments after the command's name: "--name value", "--name=value", "-o value", and
// positional arguments anywhere; after "--" all arguments are positional. Returns OPTION_INVALID,
// naming the argument, if one is wrong.
absl::StatusOr<Settings> ParseArguments(const Command& command,
                                        std::span<const char* const> arguments);

}  // namespace quotient::cli
