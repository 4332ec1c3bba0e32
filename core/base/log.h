#pragma once

// Logging for all of Quotient, by spdlog to standard error. Standard output is for results only.
// Strings that come from users must be escaped by Escaped() before they are logged.
//
//   Log().info("job {} finished in {:.1f} s", id, seconds);

#include <spdlog/logger.h>

#include <string>

#include "absl/strings/string_view.h"

namespace quotient {

// The process's logger. Thread-safe and never destroyed. By default it drops messages below
// warnings, so that a library stays quiet; servers set a lower level.
spdlog::logger& Log();

// The first 256 bytes of `text`, with control characters, backslashes and non-ASCII bytes escaped;
// "..." follows if there are more.
std::string Escaped(absl::string_view text);

}  // namespace quotient
