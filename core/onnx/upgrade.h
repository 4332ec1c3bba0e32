#pragma once

// Older (and newer) forms of operators -> the canonical form's attributes. What is a matter of
// "attribute then, input now" needs nothing here, because parameters are attributes in canonical
// form; this is for operators whose meaning, names or defaults changed.

#include <span>

#include "core/model/graph.h"
#include "core/model/tensor.h"

namespace quotient::onnx {

struct OldForm {
  int opset;
  // Parallel to the node's inputs: constant values, null where not constant.
  std::span<const model::Tensor* const> constants;
  std::span<const model::TensorType* const> types;  // null: left out
};

// Changes `node`, which has the operator name and attributes it had at `form.opset`, into the
// canonical operator. False if there is no equivalent: the node is opaque. Softmax and LogSoftmax
// before opset 13 are not handled here: they may become several nodes.
bool UpgradeNode(const OldForm& form, model::Node& node);

}  // namespace quotient::onnx
