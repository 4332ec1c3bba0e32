#pragma once

// Whether a guard that is there for rounding, for the range of a type, or for infinities and NaN is
// needed for that: numbers that certificates do not try.

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "core/model/graph.h"
#include "core/prove/certificate.h"
#include "core/rules/purpose.h"

namespace quotient::prove {

struct NumberTrials {
  rules::Purpose purpose;    // Of the guard.
  const RuleMaker& with;     // The rule.
  const RuleMaker& without;  // The rule without the guard.
  // Static graphs in which the guard refuses no match, and some in which it does.
  std::span<const model::Graph> accepted;
  std::span<const model::Graph> refused;
  uint64_t seed = 0;
};

// Evaluates what both rules make of the graphs with the reference evaluator, for inputs of the
// kinds that the purpose is about. If the rule holds in all graphs for inputs of a kind, and
// without its guard it does not in a refused one, one line says which kind and what differs there.
// Else empty.
absl::StatusOr<std::string> DifferenceInNumbers(const NumberTrials& trials);

}  // namespace quotient::prove
