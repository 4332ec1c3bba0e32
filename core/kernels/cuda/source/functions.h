#pragma once

// Element-wise operators as expressions of CUDA C++ over floats, which call kMathPrelude.

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/model/attribute.h"

namespace quotient::kernels::cuda {

// Of one operand: `x` is an expression. Nothing for other operators. A Pow with a noted exponent
// (core/kernels/fusion.h) has one operand.
std::optional<std::string> UnaryText(absl::string_view op, const model::AttributeMap& attributes,
                                     absl::string_view x);

// Of two operands.
std::optional<std::string> BinaryText(absl::string_view op, absl::string_view a,
                                      absl::string_view b);

}  // namespace quotient::kernels::cuda
