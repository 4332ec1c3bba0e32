#pragma once

// Converts operators from the form of their opset, older or newer, to the canonical form. It
// handles operators whose meaning, names or defaults changed. Attributes that became inputs need no
// conversion, because such parameters are attributes in the canonical form.

#include <span>

#include "core/model/graph.h"
#include "core/model/tensor.h"

namespace quotient::onnx {

struct OldForm {
  int opset;
  // Parallel to the node's inputs: the values of constants, null for other inputs.
  std::span<const model::Tensor* const> constants;
  std::span<const model::TensorType* const> types;  // Null if left out.
};

// Changes `node`, which has the operator name and attributes of `form.opset`, to the canonical
// operator. Returns false if there is no equivalent, so that the node must be opaque. Softmax and
// LogSoftmax before opset 13 are not handled here, because they may become several nodes.
bool UpgradeNode(const OldForm& form, model::Node& node);

}  // namespace quotient::onnx
