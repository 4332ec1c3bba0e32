#pragma once

// Types behind opaque nodes of ONNX's own domain: what ONNX's own shape inference says of one node
// at a time. This is the one place where a part of a user's model reaches the library's inference.
//
// It is asked only of operators whose inference was read and found to agree with ONNX Runtime, only
// after the reader's checks, with nothing but types, small constants and attributes of bounded
// size, never with subgraphs; what it throws means "unknown", and so does whatever it returns that
// does not come from the operands: negative or huge dimensions, symbols of its own.

#include "core/model/graph.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// For a node of the default domain that calls no function of the model. Empty if its operator is
// not asked about.
model::OpaqueTypesFn OpaqueTypes(const NodeProto& node, int opset);

}  // namespace quotient::onnx
