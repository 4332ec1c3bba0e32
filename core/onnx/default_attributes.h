#pragma once

// Attributes that say nothing, because their absence says the same.

#include "core/model/attribute.h"
#include "core/onnx/runtime_graph.h"

namespace quotient::onnx {

// The attributes of a node of a graph that ONNX Runtime has optimized, in a form that is the same
// whether or not an exporter has written out what holds by default. `rank` is the rank of the
// node's first input, or -1 if it is not known. The node must have attributes.
//
// ONNX Runtime adds every attribute for which the operator's schema has a default value, such as
// group and auto_pad, when it loads a model. So these are always there, and they stay. ONNX Runtime
// leaves two things as the file has them, and they are made equal here:
//   - lists without a default value in the schema (strides, dilations, pads, output_padding,
//     kernel_shape, perm): those that say what their absence says are left out;
//   - axes that are counted from the back: they are counted from the front.
model::AttributeMap WithoutDefaults(const RuntimeNode& node, int rank);

}  // namespace quotient::onnx
