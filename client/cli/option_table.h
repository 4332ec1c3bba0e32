#pragma once

// The table of all options, with the commands (command_table.h) that accept them.

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cli/command_table.h"
#include "client/cli/settings.h"

namespace quotient::cli {

struct Option {
  const char* name;   // Without the dashes.
  char short_name;    // 0 if there is none.
  const char* value;  // Placeholder for the value in the help; nullptr for switches.
  unsigned commands;  // CommandBits of the commands that accept it.
  bool repeatable;
  Completion completion;
  std::vector<const char*> choices;
  const char* help;
  absl::Status (*apply)(absl::string_view value, Settings* settings);
};

std::span<const Option> Options();

}  // namespace quotient::cli
