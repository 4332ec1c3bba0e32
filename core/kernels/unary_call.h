#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "core/model/attribute.h"
#include "core/ops/unary_function.h"

namespace quotient::kernels {

// An element-wise function with its numbers: all that a backend needs to know of a node with one
// operand of floats.
struct UnaryCall {
  ops::UnaryFunction function;
  // The node's numbers, or their defaults, in the order of the operator's row: a slope, two
  // bounds, ... Bounds that are left out are infinite.
  double first = 0;
  double second = 0;
};

// The function that a node computes; nullopt if it has several operands or is no such function. A
// Pow with a noted exponent (fusion.h) has one operand.
std::optional<UnaryCall> UnaryCallOf(absl::string_view op, const model::AttributeMap& attributes);

}  // namespace quotient::kernels
