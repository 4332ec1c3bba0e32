#pragma once

// Reads and checks rules and expressions from files that a user names, for programs that measure.
// Errors name the place: "FILE:LINE: what". tests/data/rewriting/README.md describes the format.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/egraph/pattern_text.h"

namespace quotient::testing {

// The number of arguments of operators, by name.
using Arities = absl::flat_hash_map<std::string, size_t>;

// Finds terms with unknown operators, or with operators that have the wrong number of arguments.
class OperatorCheck {
 public:
  // Without `known`, all operators are allowed that have the same number of arguments everywhere.
  explicit OperatorCheck(std::optional<Arities> known)
      : closed_(known.has_value()), arities_(std::move(known).value_or(Arities())) {}

  absl::Status Check(const egraph::Term& term);

 private:
  absl::Status CheckOne(const egraph::Term& term);

  const bool closed_;
  Arities arities_;
};

// Reads a file. Fails with NOT_FOUND: "PATH: is a directory", "PATH: cannot be read".
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

// Returns the rules with a question mark before each variable. In a text without question marks,
// the bare form, every leaf that begins with a lower-case letter is a variable, except `true` and
// `false`.
std::string WithMarkedVariables(absl::string_view rules);

// Checks rules in either form, and returns them with marked variables, on the same lines. `source`
// is the name of the text in errors.
absl::StatusOr<std::string> CheckedRules(absl::string_view text, absl::string_view source,
                                         OperatorCheck& operators);

struct Expression {
  std::string place;  // "FILE:LINE".
  std::string text;
};
// Returns one expression per line that is neither empty nor a comment. At least one is required.
absl::StatusOr<std::vector<Expression>> CheckedExpressions(absl::string_view text,
                                                           absl::string_view source,
                                                           OperatorCheck& operators);

}  // namespace quotient::testing
