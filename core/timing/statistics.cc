#include "core/timing/statistics.h"

#include <algorithm>
#include <cmath>

#include "core/base/rng.h"

namespace quotient::timing {

double Quantile(std::vector<double> samples, double q) {
  std::sort(samples.begin(), samples.end());
  const double position = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<size_t>(std::floor(position));
  const size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] +
         (position - static_cast<double>(below)) * (samples[above] - samples[below]);
}

double Median(std::vector<double> samples) { return Quantile(std::move(samples), 0.5); }

Interval BootstrapMedian(const std::vector<double>& samples, double confidence, uint64_t seed) {
  constexpr int kResamples = 1000;
  Rng rng(seed);
  std::vector<double> medians;
  std::vector<double> resample(samples.size());
  for (int i = 0; i < kResamples; ++i) {
    for (double& value : resample) value = samples[rng.Below(samples.size())];
    medians.push_back(Median(resample));
  }
  const double tail = (1 - confidence) / 2;
  return {Quantile(medians, tail), Quantile(medians, 1 - tail)};
}

}  // namespace quotient::timing
