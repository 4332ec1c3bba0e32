#pragma once

// ApplyAll applies what a matcher has found, for tests and benches that rewrite without a search.

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "core/egraph/matcher.h"

namespace quotient::testing {

// Applies the waiting matches of the matcher's `num_rules` rules, rule by rule, until an error or
// until `may_go_on` returns false. It is asked before each batch.
absl::Status ApplyAll(
    egraph::Matcher& matcher, size_t num_rules, egraph::EGraph& graph,
    absl::FunctionRef<bool()> may_go_on = [] { return true; });

}  // namespace quotient::testing
