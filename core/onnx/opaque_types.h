#pragma once

// Infers the types of the outputs of opaque nodes of the default domain, with ONNX's own shape
// inference, one node at a time. This is the only place where a part of a user's model is passed to
// ONNX's inference.
//
// It is called only for operators whose inference was reviewed and agrees with ONNX Runtime, and
// only after the checks of the reader. It gets types, small constants and attributes of bounded
// size, never subgraphs. If it throws, the types are unknown. In its results, negative or huge
// dimensions and symbols that no operand has are replaced by unknown dimensions.

#include "core/model/graph.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// Returns the inference function of a node of the default domain that does not call a function of
// the model. Empty if the types of its outputs cannot be inferred.
model::OpaqueTypesFn OpaqueTypes(const NodeProto& node, int opset);

}  // namespace quotient::onnx
