#include "tests/support/egraph/compile_rule.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace quotient::testing {

absl::StatusOr<std::unique_ptr<egraph::Rule>> CompileRule(absl::string_view text,
                                                          const egraph::Vocabulary& vocabulary) {
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<egraph::Rule>> rules,
                            egraph::CompileRules(text, vocabulary));
  if (rules.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(rules.size(), " rules instead of one"));
  }
  return std::move(rules.front());
}

}  // namespace quotient::testing
