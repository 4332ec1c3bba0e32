#include "core/optimize/culprit.h"

#include "core/base/status_macros.h"

namespace quotient::optimize {

absl::StatusOr<std::optional<std::string>> FindCulprit(const std::vector<std::string>& rules,
                                                       const TryRules& try_rules,
                                                       int* trials_left) {
  // The first `good` rules do no harm, the first `bad` of them do. Where the two meet stands a rule
  // that does harm, perhaps only together with those before it.
  size_t good = 0;
  size_t bad = rules.size() + 1;
  size_t next = rules.size();  // first of all: whether these rules are enough
  while (bad - good > 1) {
    if (*trials_left <= 0) return std::nullopt;
    --*trials_left;
    const std::vector<std::string> part(rules.begin(), rules.begin() + static_cast<long>(next));
    QUOTIENT_ASSIGN_OR_RETURN(const bool passed, try_rules(part));
    (passed ? good : bad) = next;
    next = good + (bad - good) / 2;
  }
  if (good == rules.size()) return std::nullopt;
  return rules[good];
}

}  // namespace quotient::optimize
