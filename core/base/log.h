#pragma once

// Logging for every part of Quotient: spdlog on standard error, never standard output (that is for
// results). Strings that came from users are escaped by Escaped() before they are logged.
//
//   Log().info("job {} finished in {:.1f} s", id, seconds);

#include <spdlog/logger.h>

#include <string>

#include "absl/strings/string_view.h"

namespace quotient {

// The process's logger; thread-safe, lives for ever. Quiet by default below warnings, so that a
// library user hears nothing; servers raise the level.
spdlog::logger& Log();

// `text` with control characters, backslashes and bytes beyond ASCII escaped, at most 256 bytes of
// it.
std::string Escaped(absl::string_view text);

}  // namespace quotient
