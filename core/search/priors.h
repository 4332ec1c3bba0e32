#pragma once

// Priors: what a search expects of actions before it has tried them in a state, learnt from what
// they brought elsewhere. Not thread-safe.

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

  // Some luck, so that a search that begins anew goes elsewhere: up to half of what is expected.
  void Shake();

  size_t num_rules() const { return num_rules_; }

  // The relative drop of the cost that an action brought.
  void Learn(Action action, double drop);
  // Of what was learnt of such an action before it was so much more.
  void Correct(Action action, double drop) { means_[IndexOf(action)].sum += drop; }
  // How good the action is expected to be; relative to others.
  double Expect(Action action) const;

  // For checkpoints. What is read is of as many rules.
  void Write(FieldWriter& stream) const;
  void Read(FieldReader& stream);

 private:
  // As if it had been tried once and had brought this much.
  static constexpr double kFirst = 0.01;
  static constexpr double kFirstOfPlace = kFirst / 4;  // all matches of a rule bring more than one
  struct Mean {
    double sum = kFirst;
    double count = 1;
    double luck = 1;
  };
  size_t IndexOf(Action action) const;
  template <typename Self, typename Stream>
  static void VisitMeans(Self& self, Stream& stream);

  size_t num_rules_;
  Rng rng_;
  // Of places by rule, of rules, of growth to a share and to the limit.
  std::vector<Mean> means_;
};

}  // namespace quotient::search
