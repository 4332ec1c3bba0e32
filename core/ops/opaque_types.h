#pragma once

// Opaque nodes of ONNX's own domain whose types follow from their inputs' types: quantization and
// recurrent layers. Knowing that much lets the graph behind them be optimized and checked.

#include <span>
#include <vector>

#include "core/model/graph.h"
#include "core/ops/op.h"

namespace quotient::ops {

// What is certain of the types of the outputs, one for each; all unknown for operators that are not
// known here. `inputs` is parallel to node.inputs.
std::vector<model::TensorType> OpaqueOutputTypes(const model::Node& node,
                                                 std::span<const InferInput> inputs);

}  // namespace quotient::ops
