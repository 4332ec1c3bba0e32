#pragma once

// Names of files that others have chosen, who are not trusted.

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace quotient::os {

// Whether a file of this name can be written into any folder, and lies in that folder itself.
inline bool IsPlainFileName(absl::string_view name) {
  constexpr size_t kMostBytes = 4096;
  return !name.empty() && name.size() <= kMostBytes && name != "." && name != ".." &&
         !absl::StrContains(name, '/') && !absl::StrContains(name, '\0');
}

}  // namespace quotient::os
