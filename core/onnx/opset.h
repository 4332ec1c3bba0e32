#pragma once

// Which opset a model is of, and to which it could be raised.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/graph.h"
#include "core/onnx/proto.h"
#include "core/onnx/skeleton.h"

namespace quotient::onnx {

// The version of the default domain; 0 if no node needs it. OPSET_UNKNOWN outside of what is
// understood, also where it is not said.
absl::StatusOr<int> CheckOpsets(const ModelProto& model);

// The default domain's operators whose meaning we do not know: those of opaque nodes, of all nodes
// in their subgraphs, and of all functions; each with the opset it is meant by.
std::vector<std::pair<std::string, int>> OpaqueOperators(const model::Graph& graph,
                                                         const Skeleton& skeleton);

// The highest opset <= max_opset under which all opaque operators mean what they mean now; at least
// the model's own.
int HighestOpset(const Skeleton& skeleton, int max_opset);

}  // namespace quotient::onnx
