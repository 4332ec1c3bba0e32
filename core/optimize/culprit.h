#pragma once

// FindCulprit: finds the rule that makes a refused graph differ from the original.
//
// If a graph does not agree with the original, some rule is wrong. The rules that were applied are
// tried again in parts. A part that leads to a refused graph contains the culprit.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quotient::optimize {

// Returns whether all graphs that a search finds with these rules alone agree with the original.
// The same rules must give the same answer. An error ends the search for the culprit.
using TryRules = std::function<absl::StatusOr<bool>(const std::vector<std::string>& rules)>;

// Bisects `rules`, which led to the refused graph. That takes at most log2(n) + 2 trials for n
// rules, each of which decrements `*trials_left`. If several rules do harm only together, one of
// them is found. Returns nothing if no trial is left or if these rules alone do no harm.
absl::StatusOr<std::optional<std::string>> FindCulprit(const std::vector<std::string>& rules,
                                                       const TryRules& try_rules, int* trials_left);

}  // namespace quotient::optimize
