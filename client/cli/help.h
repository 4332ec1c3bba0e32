#pragma once

#include <string>

#include "client/cli/command_table.h"

namespace quotient::cli {

// The list of commands.
std::string GeneralHelp();

// Usage, description, options and examples of one command.
std::string CommandHelp(const Command& command);

}  // namespace quotient::cli
