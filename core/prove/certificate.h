#pragma once

// Certificates: what is known of a rewrite rule after it was applied in many graphs.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/rule.h"
#include "core/model/graph.h"

namespace quotient::prove {

enum class Tier {
  // In every instance both sides had the same field elements: no rounding, random inputs.
  kExact,
  // The same, with functions that no polynomial computes left open: it holds whatever they are, of
  // Max and Min for any total order of the numbers.
  kExactForAnyFunction,
  // The sides of some instance differ in the field, because the rule relies on what a function is,
  // or an operator has no definition there. Both sides agree in floats (equations.h), up to the
  // rounding of a few constants of the type that the model declares.
  kNumeric,
  // Both sides differ in floats, and not by rounding alone, or have different types.
  kRefuted,
  // The rule did not apply in any graph, or nothing of what it added could be compared.
  kNotApplied,
};
const char* NameOf(Tier tier);

struct Certificate {
  Tier tier = Tier::kNotApplied;
  // Of graphs with numbers alone:
  int instances = 0;  // Graphs in which what the rule changed was compared.
  int exact = 0;      // Those of them that agreed in the field.
  int undefined = 0;  // Those that have no value in it to compare: a mean of nothing.
  // Graphs with symbols in which what the rule changed was compared, each for at least two ways to
  // bind the symbols. 0 if the rule asks for numbers everywhere.
  int symbolic = 0;
  int symbolic_exact =
      0;  // Those of them that agreed in the field, for some sizes and against none.
  // Of graphs of both kinds, instances or not:
  int tried = 0;                    // Graphs in which the rule was searched.
  int matched = 0;                  // Those of them in which it has a match.
  int changed = 0;                  // Those of them that it changed.
  int64_t equations = 0;            // Agreement::compared, in floats, of all instances.
  std::set<std::string> functions;  // Those that were left open.
  // Agreement::largest_error of all instances, rounded up to a digit or so. 1e-12 is the rounding
  // of double alone, 0 not even that.
  double largest_error = 0;
  std::set<std::string> rounding;  // Operators that were not evaluated in double.
  std::set<double> numbers;        // Where what the rule added may have bounds (point.h).
  std::string why_not_exact;       // Of an instance that did not agree in the field.
  std::string why_undefined;       // Of an instance that has no value to compare, if any.
  std::string why_not_applied;     // If it did not apply.
  std::string counterexample;      // If refuted: what differs, and the graph as text.
};

// One line that says what kept the rule from a higher tier, and in how many instances: the operator
// or guard, the functions that were left open, and how far the sides are apart in floats. The first
// line of the counterexample if it is refuted; empty if it is exact.
std::string WhyNotHigher(const Certificate& certificate);

// Makes a rule for a domain, which it may borrow.
using RuleMaker =
    std::function<absl::StatusOr<std::shared_ptr<const egraph::Rule>>(domain::TensorDomain*)>;

// How much is tried.
struct Trials {
  int instances = 20;  // Graphs with numbers in which what the rule changed is compared, at least.
  int variations = 0;  // How many of them are not the given ones, at least.
  int symbolic = 20;   // Graphs with symbols.
  uint64_t seed = 0;
};

// Applies a rule in the graphs and in variations of them (variation.h), until what it changed was
// compared in so many graphs, after 30 variations for each of these, or at the first
// counterexample; then the same in such graphs with symbols (symbols.h). The graphs have inferred
// types. Those with symbols are tried with symbols alone. Where the rule has no match at all, the
// graphs are searched once more for what comes nearest (near_misses.h). Fails if the rule cannot be
// made or a graph is no graph.
absl::StatusOr<Certificate> Certify(const RuleMaker& rule, std::span<const model::Graph> graphs,
                                    const Trials& trials);

}  // namespace quotient::prove
