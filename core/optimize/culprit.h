#pragma once

// FindCulprit: the rule that a refused graph owes its difference to.
//
// A graph that does not agree with the original means that some rule is wrong. The rules that were
// applied are tried again in parts: a part that leads to a refused graph holds the culprit.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quotient::optimize {

// Whether all graphs that a search finds with these rules alone agree with the original.
// Repeatable. An error ends the hunt.
using TryRules = std::function<absl::StatusOr<bool>(const std::vector<std::string>& rules)>;

// By bisection of `rules`, those that led to the refused graph: at most log2(n) + 2 trials of n
// rules. Each trial takes one off `*trials_left`. A rule that does harm only together with others
// is found as one of them. Nothing if no trial is left, or if these rules alone do no harm.
absl::StatusOr<std::optional<std::string>> FindCulprit(const std::vector<std::string>& rules,
                                                       const TryRules& try_rules, int* trials_left);

}  // namespace quotient::optimize
