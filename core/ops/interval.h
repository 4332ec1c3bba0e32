#pragma once

// Interval: bounds on the elements of a tensor that hold for every input of the model.
//
// An element lies in [low, high], or is NaN if `may_be_nan`; it can be infinite only where a bound
// is. The bounds hold for machine arithmetic in the element type, not just for the reals: `InType`
// rounds them outwards, and a bound that overflow can exceed becomes infinite. So an interval is
// finite only if no step of the computation can overflow.

#include <limits>

#include "core/model/dtype.h"

namespace quotient::ops {

struct Interval {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  double low = -kInfinity;
  double high = kInfinity;
  bool may_be_nan = true;

  bool bounded() const { return low > -kInfinity && high < kInfinity; }
  bool finite() const { return bounded() && !may_be_nan; }
  bool nonnegative() const { return low >= 0; }
  bool positive() const { return low > 0; }
  bool contains(double x) const { return low <= x && x <= high; }
  // The largest absolute value in the interval.
  double magnitude() const;

  friend bool operator==(const Interval&, const Interval&) = default;
};

// The largest number of a floating-point type; the distance from 1 to the next number; and the
// smallest normal number (devices may flush smaller ones to zero).
double LargestOf(model::DType dtype);
double EpsilonOf(model::DType dtype);
double SmallestNormalOf(model::DType dtype);

// All values of the type: [0, 1] for bool; includes NaN and infinities for floats.
Interval AnythingOf(model::DType dtype);

// The possible elements of `dtype` for results in [low, high] over the reals, if each result is
// computed with a relative error of up to `slack` before it is rounded to the type. Integers that
// may leave their type wrap, so they become all values of the type.
Interval InType(model::DType dtype, const Interval& real, double slack = 0);

// The smallest interval that contains both.
Interval Hull(const Interval& a, const Interval& b);
// What two known intervals of one value imply together. Returns `a` if they contradict each other.
Interval Intersection(const Interval& a, const Interval& b);

// Arithmetic over the reals with infinities and NaN: inf - inf and 0 * inf are NaN.
Interval Negative(const Interval& a);
Interval Absolute(const Interval& a);
Interval Sum(const Interval& a, const Interval& b);
Interval Product(const Interval& a, const Interval& b);
Interval Quotient(const Interval& a, const Interval& b);
// Limits both bounds to [low, high]. NaN stays NaN.
Interval Clamped(const Interval& a, double low, double high);

// Sums of zero up to `terms` elements of `a`, in any order and grouping, in the arithmetic of
// `dtype`.
Interval SumOf(model::DType dtype, const Interval& a, double terms);

}  // namespace quotient::ops
