#pragma once

// The table of all options, with the commands (command_table.h) that accept them. The options of a
// job come from core/optimize/job_options.h.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cli/command_table.h"
#include "client/cli/settings.h"

namespace quotient::cli {

struct Option {
  const char* name = nullptr;   // Without the dashes.
  char short_name = 0;          // 0 if there is none.
  const char* value = nullptr;  // Placeholder for the value in the help; nullptr for switches.
  unsigned commands = 0;        // CommandBits of the commands that accept it.
  bool repeatable = false;
  Completion completion = Completion::kNothing;
  std::vector<std::string> choices = {};  // The values that are offered, if that is kChoices.
  // Further lines, after a first one that ends with a colon, list the values.
  std::string help;
  // Sets what the option says. OPTION_INVALID if `value` is no value of it.
  std::function<absl::Status(absl::string_view value, Settings* settings)> apply;
};

std::span<const Option> Options();

}  // namespace quotient::cli
