#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace quotient {

// `text` without control characters other than ends of lines and tabs. What we print quotes models,
// servers and names of files; a terminal must not obey them.
std::string Printable(absl::string_view text);

}  // namespace quotient
