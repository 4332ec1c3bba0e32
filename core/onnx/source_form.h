#pragma once

// Nodes that come out as they went in.

#include <optional>

#include "core/model/graph.h"
#include "core/onnx/proto.h"
#include "core/onnx/skeleton.h"

namespace quotient::onnx {

// The NodeProto that a node was read from, if the node still says exactly what that said: same
// operator, attributes and parameters. Inputs and outputs may have other names by now. Every input
// of the proto that the node does not have is a constant of the original.
std::optional<NodeProto> UnchangedSource(const model::Graph& graph, const model::Node& node,
                                         const Skeleton& skeleton);

}  // namespace quotient::onnx
