#pragma once

// Slice along one axis with step 1: the one view that e-graphs of tensors have.

#include <cstdint>
#include <optional>

#include "core/model/attribute.h"
#include "core/model/shape.h"

namespace quotient::domain {

// Elements [begin, end) along an axis, all non-negative.
struct SliceRange {
  int64_t axis;
  int64_t begin;
  int64_t end;

  int64_t size() const { return end - begin; }
  friend bool operator==(const SliceRange&, const SliceRange&) = default;
};

// Attributes of that Slice.
model::AttributeMap SliceAttributes(const SliceRange& range);

// The range that a Slice of a tensor of this type takes; nothing if it is not of that form or if
// the axis has no number. `attributes` are those of a Slice whose parameters are all constant.
std::optional<SliceRange> ReadSlice(const model::AttributeMap& attributes,
                                    const model::TensorType& input);

}  // namespace quotient::domain
