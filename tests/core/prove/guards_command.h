#pragma once

// quotient-rules guards: which guards of the rules are needed, and what the others are for.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quotient::prove {

struct GuardsOptions {
  std::vector<std::string> rules;  // Empty: all of ours.
  int instances = 10;
  uint64_t seed = 0;
  std::string record;  // The file to record the findings in, as core/rules/guards.txt; empty: none.
};

// Prints a line for each guard and a table of counts. Returns whether every guard that is part of
// an equation is needed, or has a note that says why no graph shows it.
absl::StatusOr<bool> RunGuards(const GuardsOptions& options);

}  // namespace quotient::prove
