#include "core/ops/exponential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/rng.h"

namespace quotient::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The distance to the exponential in long double, in units in the last place of a double.
double ErrorInUlps(double x, double computed) {
  const long double exact = std::exp(static_cast<long double>(x));
  const double rounded = static_cast<double>(exact);
  if (rounded == computed) return 0;
  const double ulp = std::nextafter(rounded, kInfinity) - rounded;
  return static_cast<double>(std::fabs(static_cast<long double>(computed) - exact)) / ulp;
}

std::vector<double> Exponentials(std::vector<double> values) {
  ExponentialsOf(values);
  return values;
}

TEST(Exponential, IsRightWithinOneUlp) {
  Rng rng(1);
  for (const double magnitude : {1e-300, 1e-9, 0.5, 5.0, 40.0, 705.0, 760.0, 1e9}) {
    std::vector<double> values(5000);
    for (double& value : values) value = rng.Uniform(-magnitude, magnitude);
    const std::vector<double> computed = Exponentials(values);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_LE(ErrorInUlps(values[i], computed[i]), 1) << values[i] << " gives " << computed[i];
    }
  }
}

TEST(Exponential, EndsOfTheRange) {
  const std::vector<double> values = {0,    -0.0,  -708, std::nextafter(-708, -kInfinity),
                                      -745, -746,  709,  std::nextafter(709, kInfinity),
                                      710,  -1e308};
  const std::vector<double> computed = Exponentials(values);
  EXPECT_EQ(computed[0], 1);
  EXPECT_EQ(computed[1], 1);
  EXPECT_EQ(computed[8], kInfinity);
  EXPECT_EQ(computed[9], 0);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_LE(ErrorInUlps(values[i], computed[i]), 1) << values[i] << " gives " << computed[i];
  }
}

TEST(Exponential, PassesInfinitiesAndNaN) {
  const std::vector<double> computed = Exponentials({-kInfinity, kInfinity, std::nan(""), 1});
  EXPECT_EQ(computed[0], 0);
  EXPECT_EQ(computed[1], kInfinity);
  EXPECT_TRUE(std::isnan(computed[2]));
  EXPECT_LE(ErrorInUlps(1, computed[3]), 1);
}

// A line of a Softmax must not depend on where it is cut, nor on what stands beside a number.
TEST(Exponential, DependsOnNothingButTheNumber) {
  const double value = -12.34;
  const double alone = Exponentials({value})[0];
  for (size_t size : {0, 1, 15, 63, 64, 65, 200}) {
    const std::vector<double> computed = Exponentials(std::vector<double>(size, value));
    EXPECT_EQ(computed, std::vector<double>(size, alone));
    if (size < 2) continue;
    std::vector<double> others(size, -kInfinity);
    others[size / 2] = value;
    EXPECT_EQ(Exponentials(others)[size / 2], alone);
  }
}

}  // namespace
}  // namespace quotient::ops
