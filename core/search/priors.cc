#include "core/search/priors.h"

namespace quotient::search {

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
  return mean.sum / mean.count;
}

}  // namespace quotient::search
