#pragma once

// Proofs of conjectures: finds the most general way to write an equation as a rule that is not
// refuted, and its certificate.

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/generate/rule_text.h"
#include "core/generate/terms.h"
#include "core/prove/certificate.h"

namespace quotient::generate {

struct Proof {
  std::string rule;  // As text.
  RuleStyle style;
  prove::Certificate certificate;
  // Whether the sides also agree where values are infinite or NaN.
  bool holds_for_infinities = false;
};

struct ProofOptions {
  int instances = 10;  // Random ones, see prove::Certify, besides those of Prove.
  uint64_t seed = 0;
};

// Tries the styles from the most general to the narrowest. A rule is applied in graphs of its left
// side with the universe's types; with other operators of the same names, if it matches them; with
// variables of lower rank, with a dimension of 1, which is broadcast, or with long axes; and in
// random variations of all these. Nullopt if every style has values that differ, in floats or in
// the field, if the rule cannot be written, or if it makes another NaN out of zeros.
absl::StatusOr<std::optional<Proof>> Prove(const Terms& terms, TermId left, TermId right,
                                           const ProofOptions& options);

}  // namespace quotient::generate
