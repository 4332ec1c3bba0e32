#pragma once

// One rule in one graph: whether what it adds there agrees with what was there.

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/graph.h"
#include "core/prove/certificate.h"
#include "core/prove/equations.h"

namespace quotient::prove {

// Borrows everything.
struct Attempt {
  const RuleMaker& make_rule;
  const model::Graph& graph;
  std::span<const model::Graph> bound;  // The graph with every symbol bound, in some ways.
  uint64_t seed;                        // Of the inputs.
  std::set<double> numbers;             // Some inputs are drawn around them, and the graph's own.
  int perturbations = 1;                // Point::perturbations
};

// What was found in one graph with the sizes of `bound`. Floats are compared at several points.
struct Comparison {
  const model::Graph* bound;
  Agreement exact;
  Agreement floats;
};

// What came of an attempt.
struct Outcome {
  bool matched = false;
  bool changed = false;       // The e-graph.
  bool types_differ = false;  // The rule made unequal types equal.
  std::set<double> numbers;   // NumbersOf what the rule added.
  // For each way to bind the symbols that has no idle indices; none if nothing was changed.
  std::vector<Comparison> comparisons;
};
absl::StatusOr<Outcome> Compare(const Attempt& attempt);

// Whether both sides are the same in the field, all of them.
bool AgreesExactly(const Comparison& comparison);

// Whether what differs in floats is rounding alone: the sensitivity of values was sampled too
// rarely, or both sides are the same in the field, the difference is finite, and the floats of
// other inputs agree. Compares again, with more samples.
absl::StatusOr<bool> IsRounding(const Attempt& attempt, const Comparison& comparison);

}  // namespace quotient::prove
