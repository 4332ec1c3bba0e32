#include "core/ops/interval.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "core/base/float16.h"

namespace quotient::ops {
namespace {

using model::DType;

constexpr double kInfinity = Interval::kInfinity;

// A bound that became inf - inf is unknown.
double LowOr(double bound) { return std::isnan(bound) ? -kInfinity : bound; }
double HighOr(double bound) { return std::isnan(bound) ? kInfinity : bound; }

// As a bound, 0 * inf is 0; `may_be_nan` records the NaN.
double Times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Interval Enclosing(std::initializer_list<double> corners, bool may_be_nan) {
  return {std::min(corners), std::max(corners), may_be_nan};
}

bool ReachesInfinity(const Interval& a) { return !a.bounded(); }

// Rounds to the nearest number of the type, or to infinity.
double RoundedTo(DType dtype, double x) {
  switch (dtype) {
    case DType::kFloat16:
      return Float16ToFloat(FloatToFloat16(DoubleToFloatByOdd(x)));
    case DType::kBfloat16:
      return Bfloat16ToFloat(FloatToBfloat16(DoubleToFloatByOdd(x)));
    case DType::kFloat32:
      return static_cast<float>(x);
    default:
      return x;
  }
}

// Rounding is monotone, so results within a bound round to no more than the rounded bound. The
// bounds themselves were computed in float64, which adds a slack of their own.
Interval InFloat(DType dtype, const Interval& real, double slack) {
  const double widening = slack + 0x1p-51;
  const double tiny = SmallestNormalOf(dtype);
  const auto away_from_zero = [&](double bound) {
    const double moved = RoundedTo(dtype, bound * (1 + widening));
    return bound != 0 && std::abs(moved) < tiny ? std::copysign(tiny, bound) : moved;
  };
  // Devices may flush subnormal numbers to zero.
  const auto towards_zero = [&](double bound) {
    const double moved = RoundedTo(dtype, bound * std::max(0.0, 1 - widening));
    return std::abs(moved) < tiny ? 0 : moved;
  };
  return {real.low < 0 ? away_from_zero(real.low) : towards_zero(real.low),
          real.high > 0 ? away_from_zero(real.high) : towards_zero(real.high), real.may_be_nan};
}

}  // namespace

double Interval::magnitude() const { return std::max(std::abs(low), std::abs(high)); }

double LargestOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 65504;
    case DType::kBfloat16:
      return 0x1.fep127;
    case DType::kFloat32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

double EpsilonOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-10;
    case DType::kBfloat16:
      return 0x1p-7;
    case DType::kFloat32:
      return 0x1p-23;
    default:
      return 0x1p-52;
  }
}

double SmallestNormalOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-14;
    case DType::kFloat64:
      return std::numeric_limits<double>::min();
    default:
      return std::numeric_limits<float>::min();
  }
}

Interval AnythingOf(DType dtype) {
  if (dtype == DType::kBool) return {0, 1, false};
  if (!model::IsInteger(dtype)) return {};
  const int bits = model::DTypeBits(dtype);
  const bool is_signed = dtype == DType::kInt8 || dtype == DType::kInt16 ||
                         dtype == DType::kInt32 || dtype == DType::kInt64;
  return is_signed ? Interval{-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1, false}
                   : Interval{0, std::ldexp(1.0, bits) - 1, false};
}

Interval InType(DType dtype, const Interval& real, double slack) {
  if (model::IsFloat(dtype)) return InFloat(dtype, real, slack);
  const Interval all = AnythingOf(dtype);
  const bool stays = !real.may_be_nan && real.low >= all.low && real.high <= all.high;
  // Bounds are doubles, exact for integers up to 2^52.
  return stays && real.magnitude() <= 0x1p52 ? real : all;
}

Interval Hull(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.may_be_nan || b.may_be_nan};
}

Interval Intersection(const Interval& a, const Interval& b) {
  const Interval both{std::max(a.low, b.low), std::min(a.high, b.high),
                      a.may_be_nan && b.may_be_nan};
  return both.low <= both.high ? both : a;
}

Interval Negative(const Interval& a) { return {-a.high, -a.low, a.may_be_nan}; }

Interval Absolute(const Interval& a) {
  return {a.contains(0) ? 0 : std::min(std::abs(a.low), std::abs(a.high)), a.magnitude(),
          a.may_be_nan};
}

Interval Sum(const Interval& a, const Interval& b) {
  const bool cancels =
      (a.high == kInfinity && b.low == -kInfinity) || (a.low == -kInfinity && b.high == kInfinity);
  return {LowOr(a.low + b.low), HighOr(a.high + b.high), a.may_be_nan || b.may_be_nan || cancels};
}

Interval Product(const Interval& a, const Interval& b) {
  const bool undefined =
      (ReachesInfinity(a) && b.contains(0)) || (ReachesInfinity(b) && a.contains(0));
  return Enclosing(
      {Times(a.low, b.low), Times(a.low, b.high), Times(a.high, b.low), Times(a.high, b.high)},
      a.may_be_nan || b.may_be_nan || undefined);
}

Interval Quotient(const Interval& a, const Interval& b) {
  const bool undefined =
      (a.contains(0) && b.contains(0)) || (ReachesInfinity(a) && ReachesInfinity(b));
  const bool may_be_nan = a.may_be_nan || b.may_be_nan || undefined;
  // Zero has two signs, so 1 / 0 can be either infinity.
  if (b.contains(0)) return {-kInfinity, kInfinity, may_be_nan};
  const auto over = [](double x, double y) { return std::isinf(y) ? 0 : x / y; };
  return Enclosing(
      {over(a.low, b.low), over(a.low, b.high), over(a.high, b.low), over(a.high, b.high)},
      may_be_nan);
}

Interval Clamped(const Interval& a, double low, double high) {
  const auto clamped = [&](double x) { return std::min(std::max(x, low), high); };
  return {clamped(a.low), clamped(a.high), a.may_be_nan};
}

Interval SumOf(DType dtype, const Interval& a, double terms) {
  const double total = Times(terms, a.magnitude());
  if (!a.finite() || total >= LargestOf(dtype)) return AnythingOf(dtype);
  if (!model::IsFloat(dtype))
    return {Times(terms, std::min(a.low, 0.0)), Times(terms, std::max(a.high, 0.0)), false};
  // Each rounding is off by at most half a unit of a partial sum. Devices may first round factors
  // to ten bits (TF32).
  const double error = total * std::min(1.0, 0x1p-8 + terms * EpsilonOf(dtype));
  return {a.low >= 0 ? 0 : Times(terms, std::min(a.low, 0.0)) - error,
          a.high <= 0 ? 0 : Times(terms, std::max(a.high, 0.0)) + error, false};
}

}  // namespace quotient::ops
