#pragma once

// The environment variables of a process, as main() found them. Only main files read the process's
// own; everything else is handed them, so that tests can choose.

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace quotient::os {

using Environment = std::map<std::string, std::string>;

// Reads what `environ` points to, or the third argument of main: "NAME=value" texts up to a null.
Environment ReadEnvironment(const char* const* variables);

// The value of a variable; "" if it is not set.
std::string ValueOf(const Environment& environment, const std::string& name);

}  // namespace quotient::os
