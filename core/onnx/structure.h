#pragma once

// The checks of a parsed model that need no operator's meaning: names, scopes, single assignment,
// order, functions. Nothing of ONNX's own checker is used: it trusts too much.

#include <vector>

#include "absl/status/statusor.h"
#include "core/onnx/limits.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// Returns the order of the main graph's nodes (see TopologicalOrder). MODEL_MALFORMED,
// MODEL_CYCLIC, LIMIT_DEPTH for functions that call too deeply; MODEL_UNSUPPORTED for what is no
// harm and yet has no meaning that we could keep. The model must have passed
// ScanModel with the same limits: nesting is not checked again.
absl::StatusOr<std::vector<int>> CheckStructure(const ModelProto& model, const Limits& limits);

}  // namespace quotient::onnx
