#pragma once

// Element-wise operators as CUDA C++ expressions over floats, which use kMathPrelude.

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/model/attribute.h"

namespace quotient::kernels::cuda {

// The expression of an operator with one operand, the expression `x`; nullopt for other operators.
// A Pow with a noted exponent (core/kernels/fusion.h) has one operand.
std::optional<std::string> UnaryText(absl::string_view op, const model::AttributeMap& attributes,
                                     absl::string_view x);

// The same with two operands.
std::optional<std::string> BinaryText(absl::string_view op, absl::string_view a,
                                      absl::string_view b);

}  // namespace quotient::kernels::cuda
