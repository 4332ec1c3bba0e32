#include "core/timing/statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace quotient::timing {
namespace {

// The z that a value of the standard normal distribution is below with a probability of 0.5 to 1.
double StandardNormalQuantile(double probability) {
  double low = 0;
  double high = 40;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    const double below = std::erfc(-middle / std::sqrt(2.0)) / 2;
    (below < probability ? low : high) = middle;
  }
  return high;
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

Interval MedianInterval(std::vector<double> values, double confidence) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const double z = StandardNormalQuantile((1 + confidence) / 2);
  const auto outside = static_cast<size_t>(std::max(0.0, (count - z * std::sqrt(count)) / 2));
  return {values[outside], values[values.size() - 1 - outside]};
}

}  // namespace quotient::timing
