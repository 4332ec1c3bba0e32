#pragma once

// What the parts of Attention's row share, and what rules know of it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/attribute.h"
#include "core/model/shape.h"
#include "core/ops/op.h"

namespace quotient::ops {

// What an Attention with queries of this type multiplies its scores by. Without an attribute that
// is 1 / sqrt(columns of a head), and nullopt if these are not known.
std::optional<double> ScaleOfAttention(const model::AttributeMap& attributes,
                                       const model::TensorType& queries);

namespace attention {

// Where the inputs are.
inline constexpr size_t kQueries = 0, kKeys = 1, kValues = 2, kMask = 3;

// The attribute that says how many heads lie beside each other in an input of three axes.
const char* HeadsAttribute(size_t input);

// See OpDef::evaluate.
absl::StatusOr<std::vector<model::Tensor>> Evaluate(const EvaluateContext& context);

}  // namespace attention
}  // namespace quotient::ops
