#pragma once

// A canonical node -> the node that means the same at some opset.

#include <optional>
#include <string>
#include <vector>

#include "core/model/graph.h"

namespace quotient::onnx {

struct EncodedNode {
  // An input that is a value of the graph, a constant of its own (a parameter that is an attribute
  // in canonical form), or left out.
  struct Input {
    model::ValueId value;
    std::optional<model::Tensor> constant;
    std::string parameter;  // of the constant: the attribute's name

    bool omitted() const { return !value.valid() && !constant.has_value(); }
  };

  std::string op;
  model::AttributeMap attributes;
  std::vector<Input> inputs;  // the last one is not omitted
};

// Nothing if the node cannot be said at that opset: the operator, one of its attributes, its number
// of inputs or its element types came later.
std::optional<EncodedNode> EncodeNode(const model::Graph& graph, const model::Node& node,
                                      int opset);

}  // namespace quotient::onnx
