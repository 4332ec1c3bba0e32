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

// Percentile bootstrap (Efron) of the median at the given level of confidence. Deterministic.
Interval BootstrapMedian(const std::vector<double>& samples, double confidence, uint64_t seed);

}  // namespace quotient::timing
