#pragma once

// Statistics of samples. Vectors must not be empty.

#include <vector>

namespace quotient::timing {

// Returns the value below which the fraction q of the samples lies, interpolated linearly.
double Quantile(std::vector<double> samples, double q);
double Median(std::vector<double> samples);

struct Interval {
  double low = 0;
  double high = 0;
};

// A confidence interval of the median of what the values were drawn from, whatever its
// distribution: two of the values, by the sign test (Hollander, Wolfe, Chicken, "Nonparametric
// Statistical Methods", 3rd edition, section 3.6, with the normal approximation). Of few values not
// even the first and the last make an interval of 0.99 (six: 0.97).
Interval MedianInterval(std::vector<double> values, double confidence);

}  // namespace quotient::timing
