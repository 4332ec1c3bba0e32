#pragma once

// The control groups that limit what this process may use.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace quotient::os {

struct ControlGroup {
  std::string folder;  // Where its files are.
  bool is_unified;     // Version 2 of control groups, whose files have other names.
};

// Returns the group of the process and those above it, for a controller such as "memory".
std::vector<ControlGroup> ControlGroups(absl::string_view controller);

// Returns the first line of a file; empty if it cannot be read.
std::string FirstLine(const std::string& path);

}  // namespace quotient::os
