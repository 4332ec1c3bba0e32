#pragma once

// Instances: in which shapes, and with which attributes, the left side of a conjecture is tried
// before it is believed. Operators that may have any attributes are varied together, because what
// holds for any attributes of one of them may fail for some of two.

#include <cstdint>
#include <vector>

#include "core/generate/rule_text.h"
#include "core/generate/terms.h"
#include "core/model/graph.h"

namespace quotient::generate {

// Graphs of the term that a rule in this style may apply in, the universe's own first:
//   - in the universe's types; with axes that are shorter, broadcast, longer, or all equal, one at
//     a time; with lower and higher ranks and with empty axes, if the style allows them;
//   - if the style allows any attributes: with those of AttributesToTry, of all operators together
//     where that makes few combinations, else of each pair of them and in some random ones. Each
//     combination is tried in several shapes in which all dimensions differ, and some in random
//     ones of the above.
// Each graph is there once. Those that type inference refuses are left out. Deterministic for a
// seed.
std::vector<model::Graph> GraphsToTry(const Terms& terms, TermId left, const RuleStyle& style,
                                      uint64_t seed);

}  // namespace quotient::generate
