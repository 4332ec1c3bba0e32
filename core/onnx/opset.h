#pragma once

// Finds the opset of a model, and the highest one to which it can be raised.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/graph.h"
#include "core/onnx/proto.h"
#include "core/onnx/skeleton.h"

namespace quotient::onnx {

// Returns the version of the default domain, 0 if the model does not import it. OPSET_UNKNOWN for
// versions that are not understood, for contradictory imports, and if nodes use the default domain
// without an import.
absl::StatusOr<int> CheckOpsets(const ModelProto& model);

// Returns the operators of the default domain that we do not understand: those of opaque nodes, of
// all nodes in their subgraphs, and of all functions; each with the opset that defines it.
std::vector<std::pair<std::string, int>> OpaqueOperators(const model::Graph& graph,
                                                         const Skeleton& skeleton);

// Returns the highest opset, at most `max_opset` and at least the model's own, up to which all
// opaque operators keep their meaning.
int HighestOpset(const Skeleton& skeleton, int max_opset);

// Returns an opaque operator that keeps the model from the opset above HighestOpset, or "" if none
// does.
std::string OperatorThatKeepsOpset(const Skeleton& skeleton, int max_opset);

}  // namespace quotient::onnx
