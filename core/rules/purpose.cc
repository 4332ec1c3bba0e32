#include "core/rules/purpose.h"

#include <algorithm>

namespace quotient::rules {

const char* NameOf(Purpose purpose) {
  switch (purpose) {
    case Purpose::kEquation:
      return "equation";
    case Purpose::kBuilding:
      return "building";
    case Purpose::kTypes:
      return "types";
    case Purpose::kRounding:
      return "rounding";
    case Purpose::kRange:
      return "range";
    case Purpose::kNonFinite:
      return "non-finite";
    case Purpose::kRuntime:
      return "runtime";
    case Purpose::kCost:
      return "cost";
  }
  return "";
}

std::optional<Purpose> PurposeOfName(absl::string_view name) {
  const auto found =
      std::ranges::find_if(kPurposes, [&](Purpose each) { return NameOf(each) == name; });
  return found == kPurposes.end() ? std::nullopt : std::optional(*found);
}

const char* MeaningOf(Purpose purpose) {
  switch (purpose) {
    case Purpose::kEquation:
      return "without it both sides would not be equal";
    case Purpose::kBuilding:
      return "the right side is made from what it asserts";
    case Purpose::kTypes:
      return "integers are moved, never computed in another way";
    case Purpose::kRounding:
      return "without it rounding could grow, or move a step";
    case Purpose::kRange:
      return "without it numbers could leave the range of their type";
    case Purpose::kNonFinite:
      return "without it infinities, NaN or empty means could come out otherwise";
    case Purpose::kRuntime:
      return "without it runtimes might not run the right side, or might change it";
    case Purpose::kCost:
      return "without it the rule would rewrite what it makes no cheaper";
  }
  return "";
}

}  // namespace quotient::rules
