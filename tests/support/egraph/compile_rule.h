#pragma once

// CompileRule compiles the text of one rule, where a test needs no file of rules.

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/egraph/pattern.h"

namespace quotient::testing {

// Fails with INVALID_ARGUMENT if the text is not exactly one rule; the message is that of
// CompileRules.
absl::StatusOr<std::unique_ptr<egraph::Rule>> CompileRule(absl::string_view text,
                                                          const egraph::Vocabulary& vocabulary);

}  // namespace quotient::testing
