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
// Statistical Methods", 3rd edition, section 3.6, with the normal approximation). Of fewer than
// eight values not even the first and the last make an interval of 0.99.
Interval MedianInterval(std::vector<double> values, double confidence);

// Fewer pairs of runs than these make nothing sure by themselves: the interval of few ratios is no
// wider than these happen to lie apart. By the sign test, the first and the last of six ratios make
// an interval of 1 - 2 / 2^6 = 0.97. Six are the fewest that reach 0.95, since five make 0.94.
inline constexpr int kFewestPairs = 6;

}  // namespace quotient::timing
