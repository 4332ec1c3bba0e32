#pragma once

// Parses command lines of developers' programs: flags with values (--flag VALUE) in any order, and
// other arguments. Errors name the argument.

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
  // Stores the value that follows the flag, or returns an error that says what is wrong with it.
  std::function<absl::Status(absl::string_view value)> take;
  bool has_value = true;
};

// An INVALID_ARGUMENT error with the message "FLAG: what".
absl::Status WrongArgument(absl::string_view flag, absl::string_view what);

// Each of these stores the value in `place`. A number must be at least `least`.
Flag NumberFlag(absl::string_view name, int64_t least, std::optional<int64_t>& place);
Flag TextFlag(absl::string_view name, std::string& place);
// The value must be one of these words.
Flag WordFlag(absl::string_view name, std::vector<std::string> words, std::string& place);
// One or more items, separated by commas and without repetition.
Flag ListFlag(absl::string_view name, std::vector<std::string>& place);
// A flag without a value, which sets `place` to true.
Flag Switch(absl::string_view name, bool& place);

// `words` does not include the program's name. Arguments that are not flags are appended to
// `others`. If that is null, they are errors.
absl::Status ParseArguments(std::span<const char* const> words, std::span<const Flag> flags,
                            std::vector<std::string>* others);

}  // namespace quotient
