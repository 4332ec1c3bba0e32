#pragma once

// Text in UTF-8, of which names from others consist, or should.

#include <cstddef>

#include "absl/strings/string_view.h"

namespace quotient {

// Length of the well-formed sequence at the start of `text`, which must not be empty; 0 if there is
// none. Overlong forms, surrogates and code points above U+10FFFF are not well-formed (Unicode,
// table 3-7).
size_t Utf8Length(absl::string_view text);

}  // namespace quotient
