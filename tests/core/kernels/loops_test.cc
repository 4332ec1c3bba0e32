// Every instruction set's loops against the C++ library in double precision.

#include "core/kernels/cpu/loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "core/base/rng.h"

namespace quotient::kernels::cpu {
namespace {

using ops::UnaryFunction;

std::vector<const Loops*> AllLoops() {
  std::vector<const Loops*> all{&kLoopsBaseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&kLoopsAvx2);
#endif
  if (&BestLoops() != all.back()) all.push_back(&BestLoops());
  return all;
}

// Odd lengths, so that what is left over behind whole vectors is used.
std::vector<float> Samples(double low, double high, size_t count = 1037) {
  std::vector<float> samples;
  Rng rng(5);
  for (size_t i = 0; i < count; ++i) samples.push_back(static_cast<float>(rng.Uniform(low, high)));
  return samples;
}

struct UnaryCase {
  UnaryFunction fn;
  double low, high;
  std::function<double(double)> expected;
};

double Clip(double x, double low, double high) { return std::fmin(std::fmax(x, low), high); }
double Gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double GeluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST(LoopsTest, UnaryFunctionsAreCloseToTheLibrary) {
  const UnaryCase cases[] = {
      {UnaryFunction::kRelu, -3, 3, [](double x) { return x < 0 ? 0 : x; }},
      {UnaryFunction::kLeakyRelu, -3, 3, [](double x) { return x < 0 ? 0.25 * x : x; }},
      {UnaryFunction::kSigmoid, -30, 30, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {UnaryFunction::kTanh, -10, 10, [](double x) { return std::tanh(x); }},
      {UnaryFunction::kTanh, -0.5, 0.5, [](double x) { return std::tanh(x); }},
      {UnaryFunction::kClip, -3, 3, [](double x) { return Clip(x, 0.25, 0.75); }},
      {UnaryFunction::kHardSigmoid, -9, 9, [](double x) { return Clip(0.25 * x + 0.75, 0, 1); }},
      {UnaryFunction::kHardSwish, -5, 5, [](double x) { return x * Clip(x / 6 + 0.5, 0, 1); }},
      {UnaryFunction::kGeluErf, -6, 6, Gelu},
      {UnaryFunction::kGeluTanh, -6, 6, GeluTanh},
      {UnaryFunction::kExp, -80, 80, [](double x) { return std::exp(x); }},
      {UnaryFunction::kErf, -5, 5, [](double x) { return std::erf(x); }},
      {UnaryFunction::kErf, -0.7, 0.7, [](double x) { return std::erf(x); }},
      {UnaryFunction::kLog, 0.1, 9, [](double x) { return std::log(x); }},
      {UnaryFunction::kSqrt, 0, 9, [](double x) { return std::sqrt(x); }},
      {UnaryFunction::kReciprocal, 0.5, 9, [](double x) { return 1 / x; }},
      {UnaryFunction::kSin, -3, 3, [](double x) { return std::sin(x); }},
      {UnaryFunction::kCos, -3, 3, [](double x) { return std::cos(x); }},
      {UnaryFunction::kFloor, -3, 3, [](double x) { return std::floor(x); }},
      {UnaryFunction::kCeil, -3, 3, [](double x) { return std::ceil(x); }},
      {UnaryFunction::kRound, -3, 3, [](double x) { return std::nearbyint(x); }},
      {UnaryFunction::kSign, -3, 3, [](double x) { return (x > 0) - (x < 0); }},
      {UnaryFunction::kTan, -1, 1, [](double x) { return std::tan(x); }},
      {UnaryFunction::kAsin, -1, 1, [](double x) { return std::asin(x); }},
      {UnaryFunction::kAcos, -1, 1, [](double x) { return std::acos(x); }},
      {UnaryFunction::kAtan, -9, 9, [](double x) { return std::atan(x); }},
      {UnaryFunction::kSinh, -9, 9, [](double x) { return std::sinh(x); }},
      {UnaryFunction::kCosh, -9, 9, [](double x) { return std::cosh(x); }},
      {UnaryFunction::kAsinh, -9, 9, [](double x) { return std::asinh(x); }},
      {UnaryFunction::kAcosh, 1.1, 9, [](double x) { return std::acosh(x); }},
      {UnaryFunction::kAtanh, -0.9, 0.9, [](double x) { return std::atanh(x); }},
      {UnaryFunction::kSoftplus, -30, 30, [](double x) { return std::log1p(std::exp(x)); }},
      {UnaryFunction::kSoftsign, -9, 9, [](double x) { return x / (1 + std::fabs(x)); }},
      {UnaryFunction::kMish, -30, 30,
       [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {UnaryFunction::kElu, -30, 3, [](double x) { return x < 0 ? 0.25 * std::expm1(x) : x; }},
      {UnaryFunction::kElu, -0.5, 0.5, [](double x) { return x < 0 ? 0.25 * std::expm1(x) : x; }},
      {UnaryFunction::kCelu, -9, 9, [](double x) { return x < 0 ? 0.25 * std::expm1(x * 4) : x; }},
      {UnaryFunction::kSelu, -9, 9,
       [](double x) { return 0.75 * (x > 0 ? x : 0.25 * std::expm1(x)); }},
      {UnaryFunction::kThresholdedRelu, -1, 1, [](double x) { return x > 0.25 ? x : 0; }},
      {UnaryFunction::kSwish, -30, 30, [](double x) { return x / (1 + std::exp(-0.25 * x)); }},
      {UnaryFunction::kAbs, -3, 3, [](double x) { return std::fabs(x); }},
      {UnaryFunction::kNeg, -3, 3, [](double x) { return -x; }},
      {UnaryFunction::kSquare, -3, 3, [](double x) { return x * x; }},
      {UnaryFunction::kCube, -3, 3, [](double x) { return x * x * x; }},
  };
  for (const Loops* loops : AllLoops()) {
    for (const UnaryCase& test_case : cases) {
      SCOPED_TRACE(std::string(loops->isa) + " " + std::to_string(static_cast<int>(test_case.fn)));
      const std::vector<float> x = Samples(test_case.low, test_case.high);
      std::vector<float> out(x.size());
      loops->unary(test_case.fn, 0.25f, 0.75f, x.data(), out.data(),
                   static_cast<int64_t>(x.size()));
      for (size_t i = 0; i < x.size(); ++i) {
        const double expected = test_case.expected(x[i]);
        ASSERT_NEAR(out[i], expected, 1e-6 + 1e-6 * std::fabs(expected)) << x[i];
      }
    }
  }
}

TEST(LoopsTest, EndsOfTheRange) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float x[] = {200, -200, kInfinity, -kInfinity, 0, std::nanf("")};
  float out[6];
  for (const Loops* loops : AllLoops()) {
    loops->unary(UnaryFunction::kExp, 0, 0, x, out, 6);
    EXPECT_EQ(out[0], kInfinity);
    EXPECT_EQ(out[1], 0);
    EXPECT_EQ(out[2], kInfinity);
    EXPECT_EQ(out[3], 0);
    EXPECT_EQ(out[4], 1);
    loops->unary(UnaryFunction::kTanh, 0, 0, x, out, 6);
    EXPECT_EQ(out[2], 1);
    EXPECT_EQ(out[3], -1);
    EXPECT_EQ(out[4], 0);
    loops->unary(UnaryFunction::kSigmoid, 0, 0, x, out, 6);
    EXPECT_EQ(out[2], 1);
    EXPECT_EQ(out[3], 0);
    loops->unary(UnaryFunction::kRelu, 0, 0, x, out, 6);
    EXPECT_TRUE(std::isnan(out[5]));
  }
}

TEST(LoopsTest, BinaryFunctionsInAllForms) {
  const std::vector<float> x = Samples(0.5, 3), y = Samples(0.5, 2);
  const auto n = static_cast<int64_t>(x.size());
  const std::pair<BinaryFn, std::function<double(double, double)>> cases[] = {
      {BinaryFn::kAdd, [](double a, double b) { return a + b; }},
      {BinaryFn::kSub, [](double a, double b) { return a - b; }},
      {BinaryFn::kMul, [](double a, double b) { return a * b; }},
      {BinaryFn::kDiv, [](double a, double b) { return a / b; }},
      {BinaryFn::kMax, [](double a, double b) { return std::fmax(a, b); }},
      {BinaryFn::kMin, [](double a, double b) { return std::fmin(a, b); }},
      {BinaryFn::kPow, [](double a, double b) { return std::pow(a, b); }},
  };
  std::vector<float> out(x.size()), right(x.size()), left(x.size());
  for (const Loops* loops : AllLoops()) {
    for (const auto& [fn, expected] : cases) {
      loops->binary(fn, x.data(), y.data(), out.data(), n);
      loops->binary_right(fn, x.data(), 1.25f, right.data(), n);
      loops->binary_left(fn, 1.25f, x.data(), left.data(), n);
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_NEAR(out[i], expected(x[i], y[i]), 1e-5);
        ASSERT_NEAR(right[i], expected(x[i], 1.25), 1e-5);
        ASSERT_NEAR(left[i], expected(1.25, x[i]), 1e-5);
      }
    }
  }
}

TEST(LoopsTest, WorksInPlace) {
  for (const Loops* loops : AllLoops()) {
    std::vector<float> x = Samples(-1, 1);
    const std::vector<float> before = x;
    const auto n = static_cast<int64_t>(x.size());
    loops->binary(BinaryFn::kAdd, x.data(), x.data(), x.data(), n);
    loops->affine_scalar(x.data(), 2, 1, x.data(), n);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], 4 * before[i] + 1, 1e-6);
  }
}

TEST(LoopsTest, ExponentialsAndTheirSums) {
  const std::vector<float> x = Samples(-9, 9), shift = Samples(-3, 3);
  for (const Loops* loops : AllLoops()) {
    std::vector<float> sum = Samples(0, 1), out = x;  // In place.
    const std::vector<float> before = sum;
    loops->exp_sum(out.data(), shift.data(), out.data(), sum.data(),
                   static_cast<int64_t>(out.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = std::exp(static_cast<double>(x[i]) - shift[i]);
      ASSERT_NEAR(out[i], expected, 2e-6 * expected);
      ASSERT_NEAR(sum[i], before[i] + expected, 1e-6 + 2e-6 * expected);
    }
  }
}

TEST(LoopsTest, ReductionsOfEveryLength) {
  const std::vector<float> x = Samples(-1, 1, 150);
  for (const Loops* loops : AllLoops()) {
    double sum = 0, squares = 0, best = -2;
    for (int64_t n = 1; n <= 150; ++n) {
      sum += x[n - 1];
      squares += (x[n - 1] - 0.5) * (x[n - 1] - 0.5);
      best = std::fmax(best, x[n - 1]);
      ASSERT_NEAR(loops->sum(x.data(), n), sum, 1e-5);
      ASSERT_NEAR(loops->sum_squares(x.data(), 0.5f, n), squares, 1e-4);
      ASSERT_EQ(loops->max(x.data(), n), static_cast<float>(best));
    }
  }
}

TEST(LoopsTest, TheLargestIsNaNWhereverThereIsOne) {
  std::vector<float> x = Samples(-1, 1, 75);
  for (const Loops* loops : AllLoops()) {
    for (const size_t n : {1, 2, 31, 32, 33, 64, 75}) {
      for (size_t at = 0; at < n; ++at) {
        std::vector<float> row(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n));
        row[at] = std::nanf("");
        ASSERT_TRUE(std::isnan(loops->max(row.data(), static_cast<int64_t>(n))))
            << at << " of " << n;
      }
    }
  }
}

TEST(LoopsTest, TransposesEverySize) {
  for (const Loops* loops : AllLoops()) {
    for (int64_t rows : {1, 15, 16, 17, 40}) {
      for (int64_t columns : {1, 16, 33}) {
        std::vector<uint32_t> x(rows * 50), out(columns * 45, 0);
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint32_t>(i);
        loops->transpose32(x.data(), 50, out.data(), 45, rows, columns);
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < columns; ++c) ASSERT_EQ(out[c * 45 + r], x[r * 50 + c]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace quotient::kernels::cpu
