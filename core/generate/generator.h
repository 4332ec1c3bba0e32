#pragma once

// The generator of rules: enumerates terms, takes those with equal fingerprints for conjectures,
// and keeps what neither the present rules nor those found before derive and what is proved.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/generate/prover.h"
#include "core/generate/universe.h"

namespace quotient::generate {

// How far the generator is.
struct Progress {
  enum class Phase {
    kEnumerating,  // Making graphs of `size` operators.
    kProving,      // Looking at the candidates among them: which are new, which hold.
    kDropping,     // Looking for found rules that follow from those found after them.
  };
  Phase phase = Phase::kEnumerating;
  int size = 0;            // Operators in the graphs; the most that there are in kDropping.
  int64_t graphs = 0;      // Enumerated so far, of all sizes.
  int64_t candidates = 0;  // What the phase goes through: equations, or found rules.
  int64_t done = 0;        // Those of them that it has gone through.
  int64_t found = 0;       // Rules so far.
};
const char* NameOf(Progress::Phase phase);

struct Options {
  int size = 3;  // The most operators in a term.
  uint64_t seed = 0;
  int instances = 10;                // Of each certificate.
  std::vector<std::string> without;  // Present rules that are taken to be unknown.
  // What a graph of large types costs, its constants folded. Rules are written towards the side
  // that costs less. If empty, it is what the operators multiply, add and write.
  std::function<absl::StatusOr<double>(const model::Graph&)> price;
  // Called at the end of each phase and often within it. May be empty.
  std::function<void(const Progress&)> progress;
};

struct Found {
  std::string universe;
  Proof proof;
  double price_before = 0;  // Of the left side, and of the right side.
  double price_after = 0;
  bool in_taso = false;  // TASO's axioms and rules derive it.

  bool pays() const { return price_after < 0.98 * price_before; }
};

// How many are left after each step.
struct Counts {
  int64_t terms = 0;      // Enumerated.
  int64_t values = 0;     // Different ones.
  int64_t equations = 0;  // Between a term and the first one with its value.
  int64_t renamed = 0;    // Different up to renaming, not between weights alone, possible as rules.
  int64_t underived = 0;  // Not derived by the present rules.
  int64_t independent = 0;  // Nor by those found before.
  int64_t proved = 0;
  int64_t kept = 0;  // Do not follow from those proved later, either.
  double seconds_enumerating = 0;
  double seconds_deriving = 0;
  double seconds_proving = 0;

  void Add(const Counts& other);
};

struct Outcome {
  Counts counts;
  std::vector<Found> found;
  std::vector<std::string> refuted;  // Equations that hold in the universe's types only.
};

// Deterministic for a seed, but for the seconds. Rules in `known` count as found before, and are
// extended by those found now. A rule is called after the operators of its left side, with a number
// behind where a present rule, or one found before, has that name.
absl::StatusOr<Outcome> Generate(const Universe& universe, const Options& options,
                                 std::vector<std::string>& known);

// Of TASO's sound rules in this universe, the names of those that neither the present rules nor
// `known` derive. `num_rules` is how many there are, and `num_present` how many the present rules
// derive alone.
struct Coverage {
  int num_rules = 0;
  int num_present = 0;
  std::vector<std::string> missing;
};
absl::StatusOr<Coverage> CoverageOfTaso(const Universe& universe,
                                        const std::vector<std::string>& known);

}  // namespace quotient::generate
