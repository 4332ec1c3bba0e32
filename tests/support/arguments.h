#pragma once

// Command lines of programs that measure: --flag VALUE in any order, and what belongs to no flag.
// Errors name the argument.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace quotient {

struct Flag {
  absl::string_view name;
  // What follows it, or an error that says what is wrong with it.
  std::function<absl::Status(absl::string_view value)> take;
  bool has_value = true;
};

// INVALID_ARGUMENT: "FLAG: what".
absl::Status WrongArgument(absl::string_view flag, absl::string_view what);

Flag NumberFlag(absl::string_view name, int64_t least, std::optional<int64_t>& place);
Flag TextFlag(absl::string_view name, std::string& place);
// One of these words.
Flag WordFlag(absl::string_view name, std::vector<std::string> words, std::string& place);
// One or several, between commas, each once.
Flag ListFlag(absl::string_view name, std::vector<std::string>& place);
// Without a value.
Flag Switch(absl::string_view name, bool& place);

// `words` without the program's name. What is no flag goes to `others`; null: there is nothing.
absl::Status ParseArguments(std::span<const char* const> words, std::span<const Flag> flags,
                            std::vector<std::string>* others);

}  // namespace quotient
