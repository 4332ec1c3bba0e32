#pragma once

// What is known of each guard of the pattern rules: whether its rule is wrong without it, as
// `quotient-rules guards` found (tests/core/prove), and else what it is there for. Recorded in
// guards.txt.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/rules/purpose.h"

namespace quotient::rules {

struct RecordedGuard {
  std::string rule;
  int left = 1;            // Which of the rule's left sides has it, from 1.
  std::string guard;       // As in the text: "not weight(?x)".
  bool is_needed = false;  // Whether a counterexample was found without it.
  Purpose purpose = Purpose::kEquation;
  // What differs without it; of a guard that is not needed, what the rule is without it.
  std::string finding;
};

// In the order of the lines. INVALID_ARGUMENT names the line that is not as ToText writes it.
absl::StatusOr<std::vector<RecordedGuard>> ParseGuards(absl::string_view text);
// A line for each: rule, left side, guard, "needed" or "not refuted", purpose, finding; separated
// by tabs.
std::string ToText(const std::vector<RecordedGuard>& guards);

// Those of this program's rules, in the order of the rules' texts.
const std::vector<RecordedGuard>& Guards();
std::vector<RecordedGuard> GuardsOf(absl::string_view rule);

}  // namespace quotient::rules
