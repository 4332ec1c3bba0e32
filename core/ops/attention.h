#pragma once

// What the rules about Attention share with its row.

#include <cstdint>
#include <optional>

#include "core/model/attribute.h"
#include "core/model/shape.h"

namespace quotient::ops {

// What an Attention with queries of this type multiplies its scores by. Without an attribute that
// is 1 / sqrt(columns of a head), and nullopt if these are not known.
std::optional<double> ScaleOfAttention(const model::AttributeMap& attributes,
                                       const model::TensorType& queries);

}  // namespace quotient::ops
