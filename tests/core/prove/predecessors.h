#pragma once

// The rewrite rules of the systems before Quotient (TASO, TENSAT), each as a pair of graphs whose
// sizes are open. They are read from predecessors/*.txt, where every line begins with a keyword and
// indented lines continue it:
//
//   size n 1-3                        a number that each instance draws for $n
//   let same pads=[$i,$j,$i,$j]       a text for $same
//   operands input x: float32[$n,4]   what the rules below read, until the next `operands`;
//     weight w: float32[4,$(2*n+1)]   a weight is an input or a constant, as the caller wants
//   rule single-22 op=Add             a name and texts, here for $op; several rules that follow
//   rule single-40 op=Mul             each other share the lines below
//   says a + b = b + a                the equation, for people
//   repaired equal shapes             or `sound`, or `refused`, with a reason or side condition
//   by design not derived because ..  or `derived`, `derived for weights`, `not derived`
//   holds b=$a                        texts that make the rule hold: its side condition
//   fails a=1 b=3                     numbers with which it does not; those left out are lowest
//   left l = $op(a, b)                graph text that defines l, or l0 and l1
//   right r = $op(b, a)               and r, or r0 and r1
//
// $(2*n+1) is a sum of products of numbers and names.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "core/base/rng.h"

namespace quotient::prove {

enum class Mark {
  kSound,     // Both sides are equal whenever their types are right.
  kRepaired,  // They are under a side condition that the original rule lacks.
  kRefused,   // They are not.
};
const char* NameOf(Mark mark);

// Whether Quotient's rules lead from the left side to the right side.
enum class Derivation {
  kDerived,
  kForWeights,  // Only if the weights are constants.
  kNotDerived,
};
const char* NameOf(Derivation derivation);

using Bindings = std::map<std::string, std::string>;

struct Predecessor {
  std::string name;
  std::string equation;
  Mark mark = Mark::kSound;
  std::string why;  // The side condition, or why the rule is wrong; empty if it is sound.
  Derivation derivation = Derivation::kNotDerived;
  std::string by_design;  // Why it is not derived, if that is on purpose.
  std::string operands;
  std::string left;
  std::string right;

  Bindings texts;                                    // From `let` and `rule`.
  std::map<std::string, std::pair<int, int>> sizes;  // Least and largest.
  Bindings holds;
  Bindings fails;

  // Whether it is not one of the 139 rules, but what one of them becomes elsewhere.
  bool is_variant() const { return absl::StartsWith(name, "variant-"); }
};

enum class Weights { kInputs, kConstants };

// A rule with numbers for its sizes, as text without outputs.
struct PredecessorInstance {
  std::string operands;
  std::string left;
  std::string right;
  std::vector<std::string> left_outputs;
  std::vector<std::string> right_outputs;  // Parallel to them.

  // Both sides as one graph.
  std::string Both() const;
  // The left side alone.
  std::string Left() const;
};

// All rules, in the order of the files. Ends the program if a file is missing or malformed.
const std::vector<Predecessor>& Predecessors();

// Draws the sizes of an instance for which the rule is to hold.
PredecessorInstance DrawInstance(const Predecessor& rule, Weights weights, Rng& rng);
// The counterexample of a rule that is not sound.
PredecessorInstance Counterexample(const Predecessor& rule);

}  // namespace quotient::prove
