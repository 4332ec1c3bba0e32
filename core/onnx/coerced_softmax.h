#pragma once

// Softmax and LogSoftmax before opset 13 see their input as a matrix: all dimensions from `axis` on
// are normalised together. That is
//
//   y = Reshape(Softmax(Flatten(x) {axis=axis}), Shape(x))
//
// and, if the axis is the last one, Softmax(x). Whether it is may become known only when types have
// been inferred.

#include <cstdint>
#include <vector>

#include "core/model/graph.h"
#include "core/onnx/names.h"

namespace quotient::onnx {

struct CoercedSoftmax {
  model::Node node;    // the plain form
  int64_t axis = 0;    // may be negative
  model::NodeId last;  // the node that makes the result
};

// Adds the four nodes for `node`, a Softmax or LogSoftmax with the attribute kCoercedAxis.
CoercedSoftmax AddCoercedSoftmax(model::Node node, NamePool& names, model::Graph& graph);

// Gives those whose axis turns out to be the last one the plain form.
model::Graph ResolveCoercedSoftmax(model::Graph graph, const std::vector<CoercedSoftmax>& coerced);

}  // namespace quotient::onnx
