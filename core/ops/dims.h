#pragma once

// Arithmetic on dimensions, and on elements of integer tensors, that may be symbols. What is a
// polynomial in symbols has a canonical symbol (polynomial.h), so that sizes that were computed in
// different ways are known to be the same. Symbols of FloorDim and MinDim are the same if they were
// computed alike.

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "core/model/shape.h"
#include "core/ops/op.h"

namespace quotient::ops {

model::Dim AddDims(const model::Dim& a, const model::Dim& b);
model::Dim MulDims(const model::Dim& a, const model::Dim& b);
// The product of `dims` divided by the product of `divisors`. Unknown if it is not certain that
// they divide.
model::Dim DivideDims(std::span<const model::Dim> dims, std::span<const model::Dim> divisors);
// floor((dim + offset) / divisor) for a symbol and a positive divisor: the number of positions of a
// window, where the operator runs. A new symbol such as "?floor((width-1)/2)" if it is no
// polynomial. Where the sum is negative, only pools run, whose division rounds towards zero; all of
// them that have this symbol have the same size.
model::Dim FloorDim(const model::Dim& dim, int64_t offset, int64_t divisor);

// The smaller of a symbol and a number, which is the length of a slice up to a symbolic position: a
// new symbol such as "?min(sequence,512)", or 0. Unknown if the symbol is hundreds of bytes long.
model::Dim MinDim(const model::Dim& symbol, int64_t number);
// Like model::Broadcast, but also knows that x and min(x,k) broadcast to x: if x were larger than k
// they could not be broadcast unless k is 1, and then the result is x, too.
absl::StatusOr<model::Shape> BroadcastShapes(const model::Shape& a, const model::Shape& b);

Element AddElements(const Element& a, const Element& b);
Element SubElements(const Element& a, const Element& b);
Element MulElements(const Element& a, const Element& b);
// Rounds towards zero.
Element DivElements(const Element& a, const Element& b);

}  // namespace quotient::ops
