// Element-wise operators of several operands.

#include <algorithm>
#include <cmath>

#include "core/domain/transfer.h"

namespace quotient::domain {
namespace {

Interval AddOf(const Call& call) { return InType(call.dtype(), Sum(call.in(0), call.in(1))); }
Interval SubOf(const Call& call) {
  return InType(call.dtype(), Sum(call.in(0), Negative(call.in(1))));
}

Interval MulOf(const Call& call) {
  Interval product = Product(call.in(0), call.in(1));
  if (call.same_operands()) {  // a square
    product.low = 0;
    product.may_be_nan = call.in(0).may_be_nan;
  }
  return InType(call.dtype(), product);
}

// Integers truncate, and division by zero is an error.
Interval DivOf(const Call& call) {
  if (model::IsFloat(call.dtype())) return InType(call.dtype(), Quotient(call.in(0), call.in(1)));
  const double size = call.in(0).magnitude();
  const bool stays = call.in(0).nonnegative() && call.in(1).nonnegative();
  return InType(call.dtype(), {stays ? 0 : -size, size, false});
}

// An exponent that is one number for all elements.
Interval PowOf(const Call& call) {
  const Interval exponent = call.in(1);
  if (!model::IsFloat(call.dtype()) || !exponent.finite() || exponent.low != exponent.high) {
    return AnythingOf(call.dtype());
  }
  const Interval x = call.in(0);
  const double e = exponent.low;
  const bool whole = std::floor(e) == e;
  if (e < 0 ? !x.positive() : !x.nonnegative() && !whole) {
    // The sign of an even power is certain all the same.
    Interval all;
    if (whole && std::fmod(e, 2) == 0) all.low = 0;
    return all;
  }
  const double at_low = std::pow(x.low, e);
  const double at_high = std::pow(x.high, e);
  Interval power{std::min(at_low, at_high), std::max(at_low, at_high), x.may_be_nan};
  if (e > 0 && std::fmod(e, 2) == 0 && x.contains(0)) power.low = 0;
  return InType(call.dtype(), power, kFunctionSlack);
}

template <bool largest>
Interval ExtremeOf(const Call& call) {
  Interval result = call.in(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    const Interval next = call.in(i);
    const auto pick = [](double a, double b) { return largest ? std::max(a, b) : std::min(a, b); };
    result = {pick(result.low, next.low), pick(result.high, next.high),
              result.may_be_nan || next.may_be_nan};
  }
  return result;
}

Interval SumOfAll(const Call& call) {
  Interval result = call.in(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    result = InType(call.dtype(), Sum(result, call.in(i)), kFunctionSlack);
  }
  return result;
}

// The sum is computed first.
Interval MeanOfAll(const Call& call) {
  const double count = std::max<double>(1, static_cast<double>(call.inputs.size()));
  return InType(call.dtype(), Quotient(SumOfAll(call), {count, count, false}), kFunctionSlack);
}

}  // namespace

std::span<const TransferRow> ElementwiseTransfers() {
  static constexpr TransferRow kRows[] = {
      {"Add", AddOf},
      {"Sub", SubOf},
      {"Mul", MulOf},
      {"Div", DivOf},
      {"Pow", PowOf},
      {"Max", ExtremeOf<true>},
      {"Min", ExtremeOf<false>},
      {"Sum", SumOfAll},
      {"Mean", MeanOfAll},
  };
  return kRows;
}

}  // namespace quotient::domain
