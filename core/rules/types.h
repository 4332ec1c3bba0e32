#pragma once

// Questions that guards ask of types. All are about `type`, never `measured`: a symbol is no
// number, and what is not certain is answered with no.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/model/shape.h"

namespace quotient::rules {

// The number of an axis (negative ones count from the end); nothing if it is none.
std::optional<int64_t> NumberAt(const model::TensorType& type, int axis);

// Certainly the same element type and the same shape.
bool SameType(const model::TensorType& a, const model::TensorType& b);
// Certainly the same shape, whatever the element types.
bool SameShape(const model::TensorType& a, const model::TensorType& b);

// Broadcasting `small` against `type` certainly gives the shape of `type`.
bool KeepsShape(const model::TensorType& type, const model::TensorType& small);

// Broadcast against a tensor of that rank, does `type` vary along `axis` alone, without raising
// the rank? Its size there is 1 or `size`.
bool VariesAlong(const model::TensorType& type, int rank, int axis, int64_t size);

// Cuts the axes of a tensor of dims `fine` into neighbouring runs, one for each of `coarse`, whose
// sizes multiply to it: what a Reshape between the two joins or parts. Nothing if they do not line
// up or a size is 0. Axes of 1 go to the run before them, but each run has an axis.
std::optional<std::vector<std::vector<int64_t>>> GroupAxes(std::span<const int64_t> fine,
                                                           std::span<const int64_t> coarse);

// One element, and of a rank that raises no tensor's of at least `rank`.
bool IsScalar(const model::TensorType& type, int rank);

}  // namespace quotient::rules
