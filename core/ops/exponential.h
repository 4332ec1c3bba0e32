#pragma once

// Exponentials of many numbers, by vectors: those of the C library took most of the time of a
// Softmax.

#include <span>

namespace quotient::ops {

// Replaces each number by its exponential, within one unit in the last place. The result for a
// number depends on that number alone and not on its neighbours. It is the same on every x86
// machine, except where it or its reciprocal is nearly zero and the C library computes it. NaN
// stays NaN.
void ExponentialsOf(std::span<double> values);

}  // namespace quotient::ops
