#pragma once

// Priors: what a search expects an action to bring before it has tried it in a state, learned from
// what such actions brought elsewhere. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/rng.h"
#include "core/search/walk.h"

namespace quotient::search {

class FieldReader;
class FieldWriter;

class Priors {
 public:
  Priors(size_t num_rules, uint64_t seed);

  // Draws a new random factor from 1 to 1.5 for each rule and place prior, so that a restarted
  // search takes other paths.
  void DrawFactors();

  size_t num_rules() const { return num_rules_; }

  // Records the drop in cost that an action brought, relative to the root's cost.
  void Learn(Action action, double drop);
  // Adds to the sum of drops learned for such actions without counting another trial.
  void Correct(Action action, double drop) { means_[IndexOf(action)].sum += drop; }
  // How good the action is expected to be, relative to others.
  double Expect(Action action) const;

  // For checkpoints. Read expects the same number of rules.
  void Write(FieldWriter& stream) const;
  void Read(FieldReader& stream);

 private:
  // Initial values, as if each action had been tried once and had brought this much.
  static constexpr double kInitialDrop = 0.01;
  // A single match brings less than all matches of its rule.
  static constexpr double kInitialDropOfPlace = kInitialDrop / 4;
  struct Mean {
    double sum = kInitialDrop;
    double count = 1;
    double factor = 1;
  };
  size_t IndexOf(Action action) const;
  template <typename Self, typename Stream>
  static void VisitMeans(Self& self, Stream& stream);

  size_t num_rules_;
  Rng rng_;
  // In order: places by rule, whole rules, growth by a percentage, growth to the limit.
  std::vector<Mean> means_;
};

}  // namespace quotient::search
