#pragma once

// How far two values may be apart if both are right. Where large numbers nearly cancel, the
// rounding of a constant becomes large beside what is left of them. So values are computed once
// more with each input, and each result of an operator, changed by a relative 1e-9 at random (as in
// Vignes: "A stochastic arithmetic for reliable scientific computation", 1993), and an error is
// measured relative to how much an element moves thereby, if that is more than the element itself.

#include <vector>

#include "core/base/rng.h"
#include "core/model/tensor.h"

namespace quotient::prove {

// By element, how much it moves relative to a change of what it is computed from. Infinite where
// the change crosses a jump. Empty: nowhere.
using Sensitivity = std::vector<double>;

// The value with each element changed by a relative 1e-9, up or down. Integers stay: mostly they
// are exact, and where functions jump.
model::Tensor Perturbed(const model::Tensor& value, Rng& rng);

// Adds what is seen of a value whose operands were perturbed.
void NoteSensitivity(const model::Tensor& value, const model::Tensor& perturbed,
                     Sensitivity& sensitivity);

// Of two values that ought to be equal: the larger one for each element.
void JoinSensitivity(const Sensitivity& other, Sensitivity& sensitivity);

// The largest difference between elements, relative to the element of `a` or its sensitivity. What
// double does not resolve next to 1, or next to the largest element, is measured relative to these.
// Infinite for other dimensions, for NaN and infinities on one side. Elements of infinite
// sensitivity do not count.
double ConditionedError(const model::Tensor& a, const model::Tensor& b,
                        const Sensitivity& sensitivity);

}  // namespace quotient::prove
