#pragma once

// Converts a canonical node to the equivalent node of an opset.

#include <optional>
#include <string>
#include <vector>

#include "core/model/graph.h"

namespace quotient::onnx {

struct EncodedNode {
  // An input is a value of the graph, a constant (a parameter that is an attribute in canonical
  // form), or left out.
  struct Input {
    model::ValueId value;
    std::optional<model::Tensor> constant;
    std::string parameter;  // For a constant, the name of the attribute.

    bool omitted() const { return !value.valid() && !constant.has_value(); }
  };

  std::string op;
  model::AttributeMap attributes;
  std::vector<Input> inputs;  // The last one is not omitted.
};

// Returns nullopt if the opset has no equivalent node, because the operator, an attribute, the
// number of inputs or an element type was added later.
std::optional<EncodedNode> EncodeNode(const model::Graph& graph, const model::Node& node,
                                      int opset);

}  // namespace quotient::onnx
