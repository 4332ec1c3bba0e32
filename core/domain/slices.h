#pragma once

// Slice along one axis with step 1, the only kind of view in tensor e-graphs.

#include <cstdint>
#include <optional>

#include "core/model/attribute.h"
#include "core/model/shape.h"

namespace quotient::domain {

// Elements [begin, end) along an axis. All three are non-negative.
struct SliceRange {
  int64_t axis;
  int64_t begin;
  int64_t end;

  int64_t size() const { return end - begin; }
  friend bool operator==(const SliceRange&, const SliceRange&) = default;
};

// The attributes of a Slice that takes `range`.
model::AttributeMap SliceAttributes(const SliceRange& range);

// The range that a Slice takes from a tensor of this type. Returns nullopt if the Slice has several
// axes or another step, or if the axis has no static size. `attributes` are those of a Slice whose
// parameters are all constant.
std::optional<SliceRange> ReadSlice(const model::AttributeMap& attributes,
                                    const model::TensorType& input);

}  // namespace quotient::domain
