// Element-wise operators of one operand.

#include <algorithm>
#include <cmath>

#include "core/domain/transfer.h"

namespace quotient::domain {
namespace {

using model::DType;

constexpr double kInfinity = Interval::kInfinity;

// A function that does not decrease, at both bounds.
template <typename F>
Interval Rising(const Call& call, const F& f, double slack = kFunctionSlack) {
  const Interval x = call.in(0);
  return InType(call.dtype(), {f(x.low), f(x.high), x.may_be_nan}, slack);
}

// x times a factor in [0, 1] that is 0 at -infinity: as HardSwish, GELU and SiLU. `least` is not
// above the smallest value.
Interval Gated(const Call& call, double least) {
  const Interval x = call.in(0);
  return InType(call.dtype(),
                {x.nonnegative() ? 0 : std::max(least, x.low), std::max(x.high, 0.0),
                 x.may_be_nan || x.low == -kInfinity},
                kFunctionSlack);
}

Interval NegOf(const Call& call) { return InType(call.dtype(), Negative(call.in(0))); }
Interval AbsOf(const Call& call) { return InType(call.dtype(), Absolute(call.in(0))); }
Interval ReluOf(const Call& call) { return Clamped(call.in(0), 0, kInfinity); }
Interval FloorOf(const Call& call) {
  return Rising(call, [](double x) { return std::floor(x); });
}
Interval CeilOf(const Call& call) {
  return Rising(call, [](double x) { return std::ceil(x); });
}
Interval RoundOf(const Call& call) {
  const Interval x = call.in(0);
  return InType(call.dtype(), {std::floor(x.low), std::ceil(x.high), x.may_be_nan});
}
Interval ExpOf(const Call& call) {
  return Rising(call, [](double x) { return std::exp(x); });
}
Interval HardSwishOf(const Call& call) { return Gated(call, -0.4); }
Interval GeluOf(const Call& call) { return Gated(call, -0.2); }
Interval MishOf(const Call& call) { return Gated(call, -0.4); }

Interval LeakyReluOf(const Call& call) {
  const double alpha = call.attributes.GetFloat("alpha", 0.01);
  const Interval x = call.in(0);
  const Interval below = Product(Clamped(x, -kInfinity, 0), {alpha, alpha, false});
  return InType(call.dtype(), Hull(Clamped(x, 0, kInfinity), below), kFunctionSlack);
}

Interval PReluOf(const Call& call) {
  const Interval x = call.in(0);
  const Interval below = Product(Clamped(x, -kInfinity, 0), call.in(1));
  return InType(call.dtype(), Hull(Clamped(x, 0, kInfinity), below));
}

Interval EluOf(const Call& call) {
  const double alpha = call.attributes.GetFloat("alpha", 1);
  const Interval x = call.in(0);
  const Interval below{std::min(0.0, -alpha), std::max(0.0, -alpha), false};
  return InType(call.dtype(), Hull(Clamped(x, 0, kInfinity), Hull(below, {0, 0, x.may_be_nan})),
                kFunctionSlack);
}

Interval SoftplusOf(const Call& call) {
  return Rising(call,
                [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); });
}

Interval SqrtOf(const Call& call) {
  const Interval x = call.in(0);
  if (x.high < 0) return AnythingOf(call.dtype());
  return InType(call.dtype(),
                {std::sqrt(std::max(x.low, 0.0)), std::sqrt(x.high), x.may_be_nan || x.low < 0});
}

Interval LogOf(const Call& call) {
  const Interval x = call.in(0);
  if (x.high < 0) return AnythingOf(call.dtype());
  const auto log = [](double v) { return v <= 0 ? -kInfinity : std::log(v); };
  return InType(call.dtype(), {log(x.low), log(x.high), x.may_be_nan || x.low < 0}, kFunctionSlack);
}

Interval ReciprocalOf(const Call& call) {
  return InType(call.dtype(), Quotient({1, 1, false}, call.in(0)));
}

// Sine and cosine of an infinity are NaN.
Interval WaveOf(const Call& call) {
  return {-1, 1, call.in(0).may_be_nan || !call.in(0).bounded()};
}

Interval ClipOf(const Call& call) {
  // Bounds that stayed inputs are those of 64-bit integers.
  if (call.inputs.size() > 1) return AnythingOf(call.dtype());
  const double low = call.attributes.GetFloat("min", -kInfinity);
  const double high = call.attributes.GetFloat("max", kInfinity);
  if (!(low <= high)) return AnythingOf(call.dtype());
  return InType(call.dtype(), Clamped(call.in(0), low, high));
}

Interval CastOf(const Call& call) {
  if (call.dtype() == DType::kBool) return AnythingOf(DType::kBool);
  const Interval x = call.in(0);
  if (model::IsFloat(call.dtype())) return InType(call.dtype(), x);
  const Interval truncated{std::trunc(x.low), std::trunc(x.high), x.may_be_nan};
  return InType(call.dtype(), truncated);
}

}  // namespace

std::span<const TransferRow> UnaryTransfers() {
  static constexpr TransferRow kRows[] = {
      {"Neg", NegOf},
      {"Abs", AbsOf},
      {"Relu", ReluOf},
      {"LeakyRelu", LeakyReluOf},
      {"PRelu", PReluOf},
      {"Elu", EluOf},
      {"Softplus", SoftplusOf},
      {"Floor", FloorOf},
      {"Ceil", CeilOf},
      {"Round", RoundOf},
      {"Exp", ExpOf},
      {"Log", LogOf},
      {"Sqrt", SqrtOf},
      {"Reciprocal", ReciprocalOf},
      {"Sin", WaveOf},
      {"Cos", WaveOf},
      {"HardSwish", HardSwishOf},
      {"Gelu", GeluOf},
      {"Mish", MishOf},
      {"Clip", ClipOf},
      {"Cast", CastOf},
  };
  return kRows;
}

}  // namespace quotient::domain
