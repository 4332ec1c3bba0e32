#pragma once

// Bounds on the magnitudes of constants around which rules re-associate. A rule that holds for real
// numbers may still change rounding, overflow and underflow. These bounds limit such changes to
// about the rounding errors of the original; README.md derives them.

#include "core/domain/tensor_domain.h"
#include "core/model/dtype.h"

namespace quotient::rules {

using domain::Sizes;

// The magnitudes of the elements of a class: exact if its value is known and short enough to be
// read, else bounds from its facts.
Sizes SizesOf(const domain::ClassData& data);

// The largest summand that may be added to results around 1 in another order.
double LargestShift(model::DType dtype);

// Whether these summands may be added in another order, or be multiplied out: none is so large that
// rounding beside it costs more than half the tolerance of a result around 1.
bool IsShift(const domain::ClassData& data);

// Whether two summands may be added to each other before they are added to anything else: both are
// shifts, and they do not cancel. x + c - c rounds x to the last digit of c, which is on purpose,
// and what follows may enlarge the effect, as in ((x / 2^23 + 1) - 1) 2^23.
bool MayBeSummed(const domain::ClassData& a, const domain::ClassData& b);

// Whether these factors may be multiplied in another order: each is 0, or neither so large nor so
// small that a product of a few of them leaves the normal numbers of the type. A constant with too
// many elements to be read has no known lower bound, which matters only in float16.
bool IsFactor(const domain::ClassData& data);

// Whether these factors may be multiplied into an activation before others. In float16, which
// overflows early, they must not enlarge it.
bool IsEarlyFactor(const domain::ClassData& data);

// Whether a number may be moved past other activations: it is neither 0 nor far from 1, so products
// without it leave the range of the type hardly earlier than products with it.
bool IsNearOne(const domain::ClassData& data);

// Whether the reciprocals of these divisors are normal numbers of the type.
bool IsInvertible(const domain::ClassData& data);

// Whether scale / sqrt(variance + epsilon) is a factor, and mean times that is finite.
bool IsNormalizable(const domain::ClassData& scale, const domain::ClassData& mean,
                    const domain::ClassData& variance, double epsilon);

}  // namespace quotient::rules
