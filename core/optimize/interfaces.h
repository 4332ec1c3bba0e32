#pragma once

#include <string>
#include <vector>

#include "core/onnx/reader.h"

namespace quotient::optimize {

// Why a caller of `first` could not call `second` with the same inputs and use its outputs, a
// sentence each: inputs and outputs are found by name and by position, types are those that the
// files declare, a dimension that `first` leaves open must be open in `second`, and inputs that
// may be left out have the same defaults. Both are as read, but for dimensions of `first` that are
// bound for good. Empty if nothing speaks against it; `second` may have more inputs with defaults,
// defaults where `first` has none, and may take more sizes.
std::vector<std::string> InterfaceDifferences(const onnx::Model& first, const onnx::Model& second);

// The inputs of `second` that `first` does not have and that have defaults.
std::vector<std::string> UnusedInputs(const model::Graph& first, const model::Graph& second);

}  // namespace quotient::optimize
