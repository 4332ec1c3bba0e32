#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace quotient {

// `text` without control characters other than line ends and tabs. Quoted models, servers and file
// names must not control the user's terminal.
std::string Printable(absl::string_view text);

}  // namespace quotient
