#pragma once

// Finds what ONNX's checker would reject in a node. Such nodes are harmless, and some runtimes
// accept them, so they are passed through as opaque nodes.

#include <optional>
#include <string>

#include "core/onnx/proto.h"

namespace quotient::onnx {

// Returns the first violation of the operator's schema at `opset`, as text: "has 2 inputs, not 1 to
// 1". Returns nullopt if there is none; then all attributes have the kinds that the schema demands,
// and their names are unique. Only for nodes of the default domain outside of function bodies.
std::optional<std::string> Objection(const NodeProto& node, int opset);

}  // namespace quotient::onnx
