#pragma once

// What is found of a rule of predecessors.h: whether its sides are equal, and whether Quotient's
// own rules derive it.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tests/core/prove/predecessors.h"

namespace quotient::prove {

struct Finding {
  int instances = 0;           // In which both sides were compared, in the form that holds.
  int exact = 0;               // Those of them that were compared in the field.
  std::string difference;      // What differs in one of them; empty if nothing does.
  std::string counterexample;  // What differs in it; empty if nothing does or there is none.
  Derivation derivation = Derivation::kNotDerived;
};

// Compares the sides in `instances` instances, as elements of a prime field (core/prove), or as
// floats where an operator has no definition there. In the field relu is a random function, so what
// agrees holds for any function in its place. A sound rule is also compared in instances of other
// shapes that its types allow, whose operands broadcast each other or have more axes. Looks for the
// right side in an e-graph of the left side that Quotient's rules have grown. Fails if too few
// instances have types, or the counterexample has none.
absl::StatusOr<Finding> Examine(const Predecessor& rule, int instances, uint64_t seed);

// Whether a rule is what its file says.
bool IsAsExpected(const Predecessor& rule, const Finding& finding);

// "by design" for a rule that is not derived on purpose, nothing for a refused one.
std::string DerivationText(const Predecessor& rule, const Finding& finding);

}  // namespace quotient::prove
