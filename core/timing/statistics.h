#pragma once

// Statistics of samples. None of these takes an empty vector.

#include <cstdint>
#include <vector>

namespace quotient::timing {

// The value below which the fraction q of the samples lies; linear between neighbours.
double Quantile(std::vector<double> samples, double q);
double Median(std::vector<double> samples);

struct Interval {
  double low = 0;
  double high = 0;
};

// Percentile bootstrap (Efron) of Quantile(numerators, q) / Quantile(denominators, q) at the given
// level of confidence. The samples are pairs, resampled as such: what slows both does not widen the
// interval. Deterministic.
Interval BootstrapQuantileRatio(const std::vector<double>& numerators,
                                const std::vector<double>& denominators, double q,
                                double confidence, uint64_t seed);

}  // namespace quotient::timing
