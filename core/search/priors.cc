#include "core/search/priors.h"

namespace quotient::search {

Priors::Priors(size_t num_rules, uint64_t seed)
    : rng_(seed), of_place_(num_rules), of_rule_(num_rules) {
  Shake();
}

void Priors::Shake() {
  for (std::vector<Mean>* means : {&of_place_, &of_rule_}) {
    for (Mean& mean : *means) mean.luck = rng_.Uniform(1.0, 1.5);
  }
}

Priors::Mean& Priors::Of(Action action) {
  switch (action.kind) {
    case Action::Kind::kPlace:
      return of_place_[action.rule];
    case Action::Kind::kRule:
      return of_rule_[action.rule];
    case Action::Kind::kGrow:
      break;
  }
  return growth_[action.amount == Action::kToTheLimit];
}

void Priors::Learn(Action action, double drop) {
  Mean& mean = Of(action);
  mean.sum += drop;
  mean.count += 1;
}

double Priors::Expect(Action action) {
  const Mean& mean = Of(action);
  return mean.sum / mean.count * mean.luck;
}

}  // namespace quotient::search
