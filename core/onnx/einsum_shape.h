#pragma once

// The shape of Einsum's output.
//
// ONNX's own inference of this operator never ends for some equations, and takes the extent of a
// label from the first operand although others may broadcast it, so that it is not asked.

#include <optional>
#include <span>

#include "absl/strings/string_view.h"
#include "core/model/shape.h"

namespace quotient::onnx {

// `operands`: the shapes of all operands. A label has the extent that its occurrences broadcast to.
// Nothing if the equation is not well-formed or does not fit the operands.
std::optional<model::Shape> EinsumShape(absl::string_view equation,
                                        std::span<const model::Shape* const> operands);

}  // namespace quotient::onnx
