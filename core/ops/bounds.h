#pragma once

// What the families share for the facts of their rows (numerics.h): bounds and poles.

#include <algorithm>

#include "core/ops/numerics.h"

namespace quotient::ops {

// Relative errors of what is not rounded correctly: functions, and results of long sums.
inline constexpr double kFunctionSlack = 0x1p-10;
// More elements than any tensor has.
inline constexpr double kUnknownCount = 0x1p48;

// --- Element-wise ---

// A function with results in [low, high], and NaN for NaN.
template <int low, int high>
Interval Between(const BoundsContext& context) {
  return {low, high, context.in(0).may_be_nan};
}

// A function of one number that does not decrease. `f` is a stateless lambda of double.
template <auto f>
Interval Rising(const BoundsContext& context) {
  const Interval x = context.in(0);
  return InType(context.dtype(), {f(x.low), f(x.high), x.may_be_nan}, kFunctionSlack);
}

// Elements of input 0, and zeros.
Interval FirstOrZero(const BoundsContext& context);
// Numbers or indices of elements, which are not negative.
Interval Counting(const BoundsContext& context);
// The smallest interval with all elements of the inputs [first, last).
Interval HullOfInputs(const BoundsContext& context, size_t first, size_t last);

// --- Along axes ---

// How many elements an input has along an axis (negative ones count from the end); kUnknownCount if
// that is not known.
double SizeAt(const BoundsContext& context, size_t input, int axis);

// Whether the attribute `axis`, by default -1, names the last axis. False if the rank is not known.
bool IsAlongLastAxis(const BoundsContext& context);

// A number of elements.
struct ElementCount {
  double most = 1;
  bool may_be_zero = false;

  // Multiplies by the size of an axis, which may be a symbol.
  void Times(const model::TensorType& type, int axis);
};
// The elements along the axes [begin, end).
ElementCount CountAxes(const model::TensorType& type, int begin, int end);

// The mean of so many elements of input 0.
Interval MeanOf(const BoundsContext& context, const ElementCount& count);

// Sums of at most `terms` products of an element of input 0 with one of input 1.
Interval SumOfProducts(const BoundsContext& context, double terms);

// --- Poles ---

// A Numerics::is_at_pole of operators with a pole at zero of one input.
template <int input>
bool HasZeroAt(std::span<const model::Tensor* const> inputs) {
  return std::ranges::any_of(inputs[input]->AsDoubles(), [](double value) { return value == 0; });
}

}  // namespace quotient::ops
