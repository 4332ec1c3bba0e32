#pragma once

// Rules from a user's file (core/egraph/pattern.h has the form), to be certified like our own.
// Guards and functions are the words of all families of core/rules. The file is not trusted: its
// size, the number of its rules and the size of each are bounded.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/egraph/pattern_text.h"
#include "core/prove/certificate.h"

namespace quotient::prove {

inline constexpr size_t kMostFileBytes = 1 << 20;
inline constexpr size_t kMostFileRules = 1000;
inline constexpr size_t kMostRuleBytes = 4096;
inline constexpr size_t kMostRuleName = 64;
inline constexpr int kMostLeftOperators = 64;

// One rule of the file.
struct FileRule {
  std::string name;  // "rule-3" if the third text of the file has no name.
  size_t line = 0;   // On which it begins, from 1.
  // Its left sides: consecutive texts with one name are alternatives of one rule.
  std::vector<egraph::RuleText> alternatives;
};

// The rules in order. INVALID_ARGUMENT begins with the file and the line and names the rule:
// "mine.txt:3: rule neg-neg: unknown guard flat". Whatever compiles is returned, whether or not its
// right side can be built.
absl::StatusOr<std::vector<FileRule>> ParseRuleFile(absl::string_view text,
                                                    absl::string_view source);
// The same from a file. Fails if it cannot be read, or is no file.
absl::StatusOr<std::vector<FileRule>> ReadRuleFile(const std::string& path);

// Makes the rule. Borrows nothing.
RuleMaker MakerOf(const FileRule& rule);

}  // namespace quotient::prove
