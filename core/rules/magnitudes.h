#pragma once

// Magnitudes of the constants that a rule re-associates around. A rule that holds over the reals
// changes what is rounded, and what overflows or underflows on the way. These bounds keep that
// within the rounding that the original has (README.md derives them).

#include "core/domain/tensor_domain.h"
#include "core/model/dtype.h"

namespace quotient::rules {

// Sizes of the elements of a class: read where its value is known, else bounded by its facts.
struct Sizes {
  double largest = 0;   // infinite where nothing bounds it, or an element may be NaN
  double smallest = 0;  // of the elements that are not 0; 0: not known
};
Sizes SizesOf(const domain::ClassData& data);

// The largest summand that may be added in another order to results around 1.
double LargestShift(model::DType dtype);

// Summands that may be added in another order, or be multiplied out: none is so large that rounding
// beside it loses more than half the tolerance of a result around 1.
bool IsShift(const domain::ClassData& data);

// Summands that may meet before what they are added to does: both are shifts, and they do not
// cancel. x + c - c rounds x to the last digit of c, which is there on purpose: what follows may
// enlarge it again, as ((x / 2^23 + 1) - 1) 2^23 does.
bool MayBeSummed(const domain::ClassData& a, const domain::ClassData& b);

// Factors that may be multiplied in another order: each is 0, or neither so large nor so small that
// the product of a few leaves the normal numbers of the type. A constant that is too large to be
// read has no known lower bound, which counts in float16 alone.
bool IsFactor(const domain::ClassData& data);

// Factors that may be multiplied into an activation before others are: in float16, where there is
// little room above, they must not enlarge it.
bool IsEarlyFactor(const domain::ClassData& data);

// Divisors whose reciprocals are normal numbers of the type.
bool IsInvertible(const domain::ClassData& data);

// scale / sqrt(variance + epsilon) is a factor, and mean times that is finite.
bool IsNormalizable(const domain::ClassData& scale, const domain::ClassData& mean,
                    const domain::ClassData& variance, double epsilon);

}  // namespace quotient::rules
