#pragma once

// Names that a user may have meant.

#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace quotient::cli {

// Those of `names` that are like `typed`, the most alike first, at most `most`: a few letters were
// added, left out, replaced or exchanged with the next one, or one of both is a part of the other.
// Of equally alike ones those come first that come first in `names`. Nothing is like a name of more
// than 100 bytes.
std::vector<std::string> NearNames(absl::string_view typed, std::span<const std::string> names,
                                   size_t most = 5);

}  // namespace quotient::cli
