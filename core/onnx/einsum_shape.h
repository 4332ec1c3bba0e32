#pragma once

// Infers the shape of Einsum's output.
//
// ONNX's own inference is not used for this operator: it never ends for some equations, and it
// takes the extent of a label from the first operand although other operands may broadcast it.

#include <optional>
#include <span>

#include "absl/strings/string_view.h"
#include "core/model/shape.h"

namespace quotient::onnx {

// `operands` has the shapes of all operands. The extent of a label is what its occurrences
// broadcast to. Returns nullopt if the equation is not well-formed or does not fit the operands.
std::optional<model::Shape> EinsumShape(absl::string_view equation,
                                        std::span<const model::Shape* const> operands);

}  // namespace quotient::onnx
