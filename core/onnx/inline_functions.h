#pragma once

// Replaces calls of a model's own functions by the functions' bodies. ONNX's own inliner does that,
// too, but it forgets the defaults of attributes, has no bounds, and also inlines functions of
// domains that runtimes have kernels for. Runtimes prefer such a kernel to the function.

#include <cstdint>

#include "core/onnx/limits.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// Replaces calls that stand in the main graph, and calls within what replaced them, and returns how
// many. Functions that nothing calls then are taken out of the model. A call stays where
//   - the function's body has no node of the default domain, so nothing would be understood,
//   - an operator of the body means something else at `opset`, the model's own,
//   - the function's domain is one that runtimes implement ("", ai.onnx.*, com.microsoft.*),
//   - the graph would grow beyond limits.max_nodes, or by more than limits.max_structure_bytes,
//     each place of the body that the call fills in counted as if it got the largest thing.
// The model must have passed CheckStructure and CheckOpsets. Linear in the size of the result.
int64_t InlineFunctions(int opset, const Limits& limits, ModelProto* model);

}  // namespace quotient::onnx
