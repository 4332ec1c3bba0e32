#pragma once

// The canonical form -> what an older opset calls it. The counterpart of upgrade.h: "input or
// attribute" is settled by the schema, here is what changed in meaning, names or defaults.

#include <span>
#include <vector>

#include "core/model/graph.h"
#include "core/model/shape.h"

namespace quotient::onnx {

struct NewForm {
  int opset;
  // Parallel to the node's inputs; an unknown type where one was left out.
  std::span<const model::TensorType> input_types;
};

// Changes `node` from the canonical operator to the one that means the same at `form.opset`.
// False if there is none.
bool DowngradeNode(const NewForm& form, model::Node& node);

}  // namespace quotient::onnx
