#pragma once

// Attributes that say nothing, because their absence says the same.

#include "core/model/attribute.h"
#include "core/onnx/runtime_graph.h"

namespace quotient::onnx {

// The attributes of a node without those that have their default value, which some exporters write
// and others do not, and with axes counted from the front. `rank` is that of the first input, or -1
// if it is not known. Also of operators that a runtime has made of ONNX's own and that take the
// same attributes, such as a blocked Conv and FusedConv. The node must have attributes.
model::AttributeMap WithoutDefaults(const RuntimeNode& node, int rank);

}  // namespace quotient::onnx
