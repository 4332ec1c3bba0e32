#pragma once

// Priors: what a search expects of actions before it has tried them in a state, learnt from what
// they brought elsewhere. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/rng.h"
#include "core/search/walk.h"

namespace quotient::search {

class Priors {
 public:
  Priors(size_t num_rules, uint64_t seed);

  // Some luck, so that a search that begins anew goes elsewhere: up to half of what is expected.
  void Shake();

  // The relative drop of the cost that an action brought.
  void Learn(Action action, double drop);
  // How good the action is expected to be; relative to others.
  double Expect(Action action);

 private:
  // As if it had been tried once and had brought this much.
  static constexpr double kFirst = 0.01;
  struct Mean {
    double sum = kFirst;
    double count = 1;
    double luck = 1;
  };
  Mean& Of(Action action);

  Rng rng_;
  std::vector<Mean> of_place_;
  std::vector<Mean> of_rule_;
  Mean growth_[2];  // to a share, to the limit
};

}  // namespace quotient::search
