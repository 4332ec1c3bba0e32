#include "core/base/printable.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace quotient {

std::string Printable(absl::string_view text) {
  std::string printable(text);
  const auto commands_terminal = [](char c) {
    return c != '\n' && c != '\t' && absl::ascii_iscntrl(static_cast<unsigned char>(c));
  };
  std::ranges::replace_if(printable, commands_terminal, '?');
  return printable;
}

}  // namespace quotient
