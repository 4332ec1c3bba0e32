#pragma once

// Which guards of rules are needed for the rule to hold. A rule is certified without one of its
// guards, in the graphs of its cases, among them those that it has to leave alone, and in such as
// have what the guard refuses (guard_graphs.h), and is tried with numbers that certificates leave
// out (guard_numbers.h). If it fails then, the guard is needed. If not, it is there for what its
// word declares (core/rules/purpose.h), mostly for cost: to keep a rule from rewriting what it
// makes no cheaper.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/rules/guard_records.h"

namespace quotient::prove {

struct GuardedRule {
  std::string rule;
  int left = 1;         // Which of the rule's left sides, from 1.
  std::string guard;    // As in the text: "not weight(?x)".
  std::string text;     // Of the rule.
  std::string without;  // The text of the rule without this guard.
  size_t family;        // Index in rules::AllFamilies().
};

// The text without its guard `index`, which is counted from 0, and that guard. Empty if there are
// not so many.
struct Split {
  std::string without;
  std::string guard;
};
Split WithoutGuard(absl::string_view rule_text, size_t index);

// Every guard of every pattern rule, in the order of the texts.
std::vector<GuardedRule> AllGuards();

enum class Need {
  kNeeded,          // Without it the rule is refuted.
  kToBuild,         // Without it the right side cannot be built: the process that tried that ended.
  kForSomeNumbers,  // Without it the rule fails for numbers that certificates do not try.
  kNotRefuted,
  kNotTried,  // The rule does not apply even without it, in any graph of its cases.
};
const char* NameOf(Need need);
struct GuardFinding {
  Need need;
  // Of a guard that is not refuted: what the rule is known to be without it, in how many graphs it
  // was compared, and in how many the guard refuses a match. Else why the guard is needed, or was
  // not tried.
  std::string why;
};
// Tries the rule without the guard, and starts processes of its own for that. Fails if it cannot be
// tried at all.
absl::StatusOr<GuardFinding> NeedOf(const GuardedRule& guarded, int instances, uint64_t seed);

// What guards.txt has of the guard, with the purpose of its word, or that of the rule's note.
rules::RecordedGuard RecordOf(const GuardedRule& guarded, const GuardFinding& finding);
// Whether the guard is needed, is no part of an equation, or has a note that says why no graph
// shows that it is.
bool IsExplained(const rules::RecordedGuard& guard);

}  // namespace quotient::prove
