#include "tests/support/arguments.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"

namespace quotient {

absl::Status WrongArgument(absl::string_view flag, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", what));
}

Flag NumberFlag(absl::string_view name, int64_t least, std::optional<int64_t>& place) {
  return {name, [name, least, &place](absl::string_view value) {
            int64_t number;
            if (!absl::SimpleAtoi(value, &number) || number < least) {
              return WrongArgument(name,
                                   absl::StrCat("wants a number from ", least, " on, not ", value));
            }
            place = number;
            return absl::OkStatus();
          }};
}

Flag TextFlag(absl::string_view name, std::string& place) {
  return {name, [&place](absl::string_view value) {
            place = std::string(value);
            return absl::OkStatus();
          }};
}

Flag WordFlag(absl::string_view name, std::vector<std::string> words, std::string& place) {
  return {name, [name, words = std::move(words), &place](absl::string_view value) {
            if (std::ranges::find(words, value) == words.end()) {
              return WrongArgument(
                  name, absl::StrCat("wants ", absl::StrJoin(words, " or "), ", not ", value));
            }
            place = std::string(value);
            return absl::OkStatus();
          }};
}

Flag ListFlag(absl::string_view name, std::vector<std::string>& place) {
  return {name, [name, &place](absl::string_view value) {
            place.clear();
            for (const absl::string_view item : absl::StrSplit(value, ',')) {
              if (item.empty()) return WrongArgument(name, "wants A,B, without gaps");
              if (std::ranges::find(place, item) != place.end()) {
                return WrongArgument(name, absl::StrCat(item, " is there twice"));
              }
              place.emplace_back(item);
            }
            return absl::OkStatus();
          }};
}

Flag Switch(absl::string_view name, bool& place) {
  const auto take = [&place](absl::string_view) {
    place = true;
    return absl::OkStatus();
  };
  return {name, take, false};
}

absl::Status ParseArguments(std::span<const char* const> words, std::span<const Flag> flags,
                            std::vector<std::string>* others) {
  for (size_t i = 0; i < words.size(); ++i) {
    const absl::string_view word = words[i];
    const auto flag = std::ranges::find(flags, word, &Flag::name);
    if (flag == flags.end()) {
      if (others == nullptr || word.empty() || word[0] == '-') {
        return WrongArgument(word, "unknown argument");
      }
      others->push_back(std::string(word));
    } else if (!flag->has_value) {
      QUOTIENT_RETURN_IF_ERROR(flag->take(""));
    } else if (i + 1 == words.size()) {
      return WrongArgument(word, "wants a value");
    } else {
      QUOTIENT_RETURN_IF_ERROR(flag->take(words[++i]));
    }
  }
  return absl::OkStatus();
}

}  // namespace quotient
