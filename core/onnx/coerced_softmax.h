#pragma once

// Softmax and LogSoftmax before opset 13 treat their input as a matrix: all dimensions from `axis`
// on are normalized together. This equals
//
//   y = Reshape(Softmax(Flatten(x) {axis=axis}), Shape(x))
//
// and simply Softmax(x) if `axis` is the last one, which may become known only when types have been
// inferred.

#include <cstdint>
#include <vector>

#include "core/model/graph.h"
#include "core/onnx/names.h"

namespace quotient::onnx {

struct CoercedSoftmax {
  model::Node node;    // The plain form, Softmax(x).
  int64_t axis = 0;    // May be negative.
  model::NodeId last;  // The node that computes the result.
};

// Adds the four nodes for `node`, a Softmax or LogSoftmax with the attribute kCoercedAxis.
CoercedSoftmax AddCoercedSoftmax(model::Node node, NamePool& names, model::Graph& graph);

// Replaces the nodes by the plain form wherever the axis turned out to be the last one.
model::Graph ResolveCoercedSoftmax(model::Graph graph, const std::vector<CoercedSoftmax>& coerced);

}  // namespace quotient::onnx
