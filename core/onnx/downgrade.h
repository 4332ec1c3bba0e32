#pragma once

// Converts operators from the canonical form to the form of an older opset; the counterpart of
// upgrade.h. It handles changes of meaning, names and defaults. Whether a parameter is an input or
// an attribute follows from the schema (encode_node.h).

#include <span>
#include <vector>

#include "core/model/graph.h"
#include "core/model/shape.h"

namespace quotient::onnx {

struct NewForm {
  int opset;
  // Parallel to the node's inputs; an unknown type for an input that is left out.
  std::span<const model::TensorType> input_types;
};

// Changes `node` from the canonical operator to the equivalent one at `form.opset`. Returns false
// if there is none.
bool DowngradeNode(const NewForm& form, model::Node& node);

}  // namespace quotient::onnx
