#pragma once

// Rules and expressions from files that somebody names, checked; for programs that measure. Errors
// say where: "FILE:LINE: what". The format is in tests/data/rewriting/README.md.

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

// How many arguments operators have; by name.
using Arities = absl::flat_hash_map<std::string, size_t>;

// Tells terms whose operators are unknown, or have another number of arguments than they should.
class OperatorCheck {
 public:
  // Without `known` any operator is fine that has as many arguments as when it was met first.
  explicit OperatorCheck(std::optional<Arities> known)
      : closed_(known.has_value()), arities_(std::move(known).value_or(Arities())) {}

  absl::Status Check(const egraph::Term& term);

 private:
  absl::Status CheckOne(const egraph::Term& term);

  const bool closed_;
  Arities arities_;
};

// NOT_FOUND: "PATH: is a directory", "PATH: cannot be read".
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

// The rules with a question mark before each variable. A text that has none is in the bare form:
// there a leaf that begins with a lower-case letter is a variable, unless it is `true` or `false`.
std::string WithMarkedVariables(absl::string_view rules);

// The rules of a text in either form, with marked variables and on the lines where they were.
// `source` is what the text is called.
absl::StatusOr<std::string> CheckedRules(absl::string_view text, absl::string_view source,
                                         OperatorCheck& operators);

struct Expression {
  std::string place;  // FILE:LINE
  std::string text;
};
// One per line that is neither empty nor a comment. None at all is an error.
absl::StatusOr<std::vector<Expression>> CheckedExpressions(absl::string_view text,
                                                           absl::string_view source,
                                                           OperatorCheck& operators);

}  // namespace quotient::testing
