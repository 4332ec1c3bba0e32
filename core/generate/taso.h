#pragma once

// What TASO and TENSAT know: the axioms by which TASO verifies rules, which TENSAT uses as rewrites
// in both directions, and the rules that both ship.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace quotient::generate {

// The axioms as rules, each in the directions that are rules. Those about constants (identity
// matrices and kernels, pooling kernels, ones) are left out, because universes have none.
std::string TasoAxioms();

// A rule as an equation between terms of a universe, as text.
struct TasoRule {
  std::string name;  // Its letter and lines in TENSAT's list, or "multi" and its number there.
  std::string left;
  std::string right;
};
// The sound rules up to renaming that this universe has the operators for: "taso-rules-matrices"
// and "taso-rules-images" together have all. Of rules with two right sides there is an equation for
// each. Left out are those without use, in which both arguments of one Conv are renamed alike, and
// the merging of groups, which has no operator.
std::vector<TasoRule> TasoRules(absl::string_view universe);

}  // namespace quotient::generate
