#pragma once

// Finds nodes that can be written exactly as they were read.

#include <optional>

#include "core/model/graph.h"
#include "core/onnx/proto.h"
#include "core/onnx/skeleton.h"

namespace quotient::onnx {

// Returns the NodeProto that a node was read from, if the node still has the same operator,
// attributes and parameters. The names of inputs and outputs may have changed. Every input of the
// proto that the node does not have is a constant of the original.
std::optional<NodeProto> UnchangedSource(const model::Graph& graph, const model::Node& node,
                                         const Skeleton& skeleton);

}  // namespace quotient::onnx
