#include "core/search/priors.h"

#include <limits>
#include <span>

#include "core/search/field_stream.h"

namespace quotient::search {

Priors::Priors(size_t num_rules, uint64_t seed)
    : num_rules_(num_rules), rng_(seed), means_(2 * num_rules + 2) {
  for (Mean& mean : std::span(means_).first(num_rules)) mean.sum = kInitialDropOfPlace;
  DrawFactors();
}

void Priors::DrawFactors() {
  for (Mean& mean : std::span(means_).first(2 * num_rules_)) mean.factor = rng_.Uniform(1.0, 1.5);
}

size_t Priors::IndexOf(Action action) const {
  switch (action.kind) {
    case Action::Kind::kPlace:
      return action.rule;
    case Action::Kind::kRule:
      return num_rules_ + action.rule;
    case Action::Kind::kGrow:
      break;
  }
  return 2 * num_rules_ + (action.amount == Action::kToTheLimit ? 1 : 0);
}

void Priors::Learn(Action action, double drop) {
  Mean& mean = means_[IndexOf(action)];
  mean.sum += drop;
  mean.count += 1;
}

double Priors::Expect(Action action) const {
  const Mean& mean = means_[IndexOf(action)];
  return mean.sum / mean.count * mean.factor;
}

template <typename Self, typename Stream>
void Priors::VisitMeans(Self& self, Stream& stream) {
  constexpr double kMost = std::numeric_limits<double>::infinity();
  for (auto& mean : self.means_) {
    stream.Real(mean.sum, -kMost, kMost);
    stream.Real(mean.count, 1, kMost);
    stream.Real(mean.factor, 0, kMost);
  }
}

void Priors::Write(FieldWriter& stream) const {
  stream.Word(rng_.state());
  VisitMeans(*this, stream);
}

void Priors::Read(FieldReader& stream) {
  uint64_t state;
  stream.Word(state);
  rng_ = Rng::FromState(state);
  VisitMeans(*this, stream);
}

}  // namespace quotient::search
