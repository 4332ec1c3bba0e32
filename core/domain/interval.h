#pragma once

// Interval: between which numbers the elements of a tensor lie, whatever the model is given.
//
// An element is NaN only if `may_be_nan`, and else lies in [low, high]; it is infinite only where a
// bound is. Bounds are those of what a machine computes in the element type, not of the reals:
// `InType` rounds them outwards and opens a bound that overflow can reach. So "finite" is said only
// where each step on the way stayed below the largest number of its type.

#include <limits>

#include "core/model/dtype.h"

namespace quotient::domain {

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
  // The largest absolute value of an element.
  double magnitude() const;

  friend bool operator==(const Interval&, const Interval&) = default;
};

// The largest number of a floating-point type; the distance from 1 to the next number; the smallest
// number that is not subnormal (devices take smaller ones for zero).
double LargestOf(model::DType dtype);
double EpsilonOf(model::DType dtype);
double SmallestNormalOf(model::DType dtype);

// All values of the type: [0, 1] for bool, NaN and infinities among them for floats.
Interval AnythingOf(model::DType dtype);

// What results in [low, high] over the reals can be as elements of `dtype`, if each is computed
// with a relative error of up to `slack` on top of being rounded to the type. Integers that leave
// their type wrap, so they are anything.
Interval InType(model::DType dtype, const Interval& real, double slack = 0);

// Everything in either.
Interval Hull(const Interval& a, const Interval& b);
// What is in both: two truths about one value. `a` if they contradict each other.
Interval Intersection(const Interval& a, const Interval& b);

// Over the reals, infinities and NaN included: inf - inf and 0 * inf are NaN.
Interval Negative(const Interval& a);
Interval Absolute(const Interval& a);
Interval Sum(const Interval& a, const Interval& b);
Interval Product(const Interval& a, const Interval& b);
Interval Quotient(const Interval& a, const Interval& b);
// Both bounds limited to [low, high]; NaN stays NaN.
Interval Clamped(const Interval& a, double low, double high);

// Sums of up to `terms` elements of `a`, in any order and grouping, in the arithmetic of `dtype`. 0
// is among them.
Interval SumOf(model::DType dtype, const Interval& a, double terms);

}  // namespace quotient::domain
