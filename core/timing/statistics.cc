#include "core/timing/statistics.h"

#include <algorithm>
#include <cmath>

#include "absl/functional/function_ref.h"
#include "core/base/rng.h"

namespace quotient::timing {
namespace {

// The interval of what `resample` returns.
Interval Bootstrap(double confidence, uint64_t seed, absl::FunctionRef<double(Rng&)> resample) {
  constexpr int kResamples = 1000;
  Rng rng(seed);
  std::vector<double> statistics;
  for (int i = 0; i < kResamples; ++i) statistics.push_back(resample(rng));
  const double tail = (1 - confidence) / 2;
  return {Quantile(statistics, tail), Quantile(statistics, 1 - tail)};
}

}  // namespace

double Quantile(std::vector<double> samples, double q) {
  std::sort(samples.begin(), samples.end());
  const double position = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<size_t>(std::floor(position));
  const size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] +
         (position - static_cast<double>(below)) * (samples[above] - samples[below]);
}

double Median(std::vector<double> samples) { return Quantile(std::move(samples), 0.5); }

Interval BootstrapQuantileRatio(const std::vector<double>& numerators,
                                const std::vector<double>& denominators, double q,
                                double confidence, uint64_t seed) {
  std::vector<double> above(numerators.size());
  std::vector<double> below(numerators.size());
  return Bootstrap(confidence, seed, [&](Rng& rng) {
    for (size_t k = 0; k < above.size(); ++k) {
      const uint64_t pair = rng.Below(above.size());
      above[k] = numerators[pair];
      below[k] = denominators[pair];
    }
    return Quantile(above, q) / Quantile(below, q);
  });
}

Interval BootstrapMedian(const std::vector<double>& values, double confidence, uint64_t seed) {
  std::vector<double> drawn(values.size());
  return Bootstrap(confidence, seed, [&](Rng& rng) {
    for (double& value : drawn) value = values[rng.Below(values.size())];
    return Median(drawn);
  });
}

}  // namespace quotient::timing
