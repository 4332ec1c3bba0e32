#pragma once

// Predicates on types for guards. Guards ask about ClassData::type, never about `measured`, so a
// symbol is not a number. Whatever is not certain is answered with "no".

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/model/shape.h"

namespace quotient::rules {

// The size of an axis, which counts from the end if negative. Returns nullopt if the size is not a
// number or there is no such axis.
std::optional<int64_t> NumberAt(const model::TensorType& type, int axis);

// Whether element type and shape are certainly the same.
bool SameType(const model::TensorType& a, const model::TensorType& b);
// Whether the shape is certainly the same. Element types may differ.
bool SameShape(const model::TensorType& a, const model::TensorType& b);

// Whether broadcasting `small` against `type` certainly gives the shape of `type`.
bool KeepsShape(const model::TensorType& type, const model::TensorType& small);

// Whether `type`, broadcast against a tensor of rank `rank`, varies at most along `axis`, where its
// size must be 1 or `size`, and does not raise the rank.
bool VariesAlong(const model::TensorType& type, int rank, int axis, int64_t size);

// Groups consecutive axes of a shape `fine`, one group for each dimension of `coarse`, so that the
// sizes in a group multiply to that dimension whatever its symbols are: the axes that a Reshape
// between the two joins or splits. Returns nullopt if that is impossible or a size is known to be
// 0. An axis of size 1 goes to the group of what is behind it, or else to the last one.
std::optional<std::vector<std::vector<int64_t>>> GroupAxes(const model::Shape& fine,
                                                           const model::Shape& coarse);

// Whether no dimension is known to be 0. ONNX Runtime has no Attention and no RotaryEmbedding
// without batches, heads, rows or columns. `type` has a rank.
bool MayHaveElements(const model::TensorType& type);

// Whether `type` has one element and a rank of at most `rank`.
bool IsScalar(const model::TensorType& type, int rank);

}  // namespace quotient::rules
