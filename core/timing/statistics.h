#pragma once

// Statistics of samples. Vectors must not be empty.

#include <cstdint>
#include <vector>

namespace quotient::timing {

// Returns the value below which the fraction q of the samples lies, interpolated linearly.
double Quantile(std::vector<double> samples, double q);
double Median(std::vector<double> samples);

struct Interval {
  double low = 0;
  double high = 0;
};

// Percentile bootstrap (Efron): a confidence interval of Quantile(numerators, q) /
// Quantile(denominators, q). The vectors are parallel, and pairs are resampled together, so that a
// disturbance of both samples of a pair does not widen the interval. Deterministic for a seed.
Interval BootstrapQuantileRatio(const std::vector<double>& numerators,
                                const std::vector<double>& denominators, double q,
                                double confidence, uint64_t seed);

// The same of the median of `values`.
Interval BootstrapMedian(const std::vector<double>& values, double confidence, uint64_t seed);

}  // namespace quotient::timing
