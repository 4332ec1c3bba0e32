#pragma once

// Replaces calls of a model's own functions by the bodies of the functions. ONNX's own inliner is
// not used, because it forgets the defaults of attributes, has no bounds, and also inlines
// functions for which runtimes have kernels, which they prefer to the function.

#include <cstdint>

#include "core/onnx/limits.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// Replaces calls in the main graph, and calls within the inlined bodies, and returns their number.
// Functions that are no longer called are removed from the model. A call is kept if
//   - the function's body has no node of the default domain, so nothing would be understood,
//   - an operator of the body means something else at `opset`, the model's own,
//   - the function's domain is one that runtimes implement ("", ai.onnx.*, com.microsoft.*),
//   - the graph would grow beyond limits.max_nodes, or by more than limits.max_structure_bytes,
//     if each place of the body that the call fills in got the largest item.
// The model must have passed CheckStructure and CheckOpsets. Linear in the size of the result.
int64_t InlineFunctions(int opset, const Limits& limits, ModelProto* model);

}  // namespace quotient::onnx
