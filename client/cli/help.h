#pragma once

#include <string>

#include "client/cli/command_table.h"

namespace quotient::cli {

// Returns the help of the program, which lists the commands.
std::string GeneralHelp();

// Returns usage, description, options and examples of one command.
std::string CommandHelp(const Command& command);

}  // namespace quotient::cli
