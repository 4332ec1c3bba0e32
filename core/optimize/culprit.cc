#include "core/optimize/culprit.h"

#include "core/base/status_macros.h"

namespace quotient::optimize {

absl::StatusOr<std::optional<std::string>> FindCulprit(const std::vector<std::string>& rules,
                                                       const TryRules& try_rules,
                                                       int* trials_left) {
  // The first `good` rules do no harm, and the first `bad` rules do. When these differ by one, the
  // last of the first `bad` rules does harm, perhaps only together with those before it.
  size_t good = 0;
  size_t bad = rules.size() + 1;
  size_t next = rules.size();  // The first trial shows whether these rules do harm at all.
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
