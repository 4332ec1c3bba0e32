#pragma once

// Names in texts for people: as words, and short enough for a column.

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace quotient::report {

// A name that JSON has for programs, as words: "no improvement" for "no_improvement".
std::string InWords(absl::string_view name);

// A name from the model, escaped, in at most `width` characters, which are two at least. The middle
// of a longer one becomes "..". Names of nodes begin alike and differ at their ends, so two thirds
// of what stays are its end: "/encoder/bl../SelfAttention/q/MatMul".
std::string ShortName(absl::string_view name, size_t width);

}  // namespace quotient::report
