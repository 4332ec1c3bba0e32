#pragma once

// Every option of the program, and the commands that take it (command_table.h).

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cli/command_table.h"
#include "client/cli/settings.h"

namespace quotient::cli {

struct Option {
  const char* name;   // without the dashes
  char short_name;    // 0: none
  const char* value;  // what stands for the value in the help; nullptr: a switch
  unsigned commands;  // CommandBits that take it
  bool repeatable;
  Completion completion;
  std::vector<const char*> choices;
  const char* help;
  absl::Status (*apply)(absl::string_view value, Settings* settings);
};

std::span<const Option> Options();

}  // namespace quotient::cli
