#pragma once

// Checks a parsed model as far as that is possible without the meaning of operators: names, scopes,
// single assignment, order, functions. ONNX's own checker is not used, because it trusts its input
// too much.

#include <vector>

#include "absl/status/statusor.h"
#include "core/onnx/limits.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// Returns the order of the main graph's nodes (see TopologicalOrder). Fails with MODEL_MALFORMED,
// MODEL_CYCLIC, LIMIT_DEPTH for calls of functions that nest too deeply, and MODEL_UNSUPPORTED for
// harmless models whose meaning we could not preserve. The model must have passed ScanModel with
// the same limits, because nesting is not checked again.
absl::StatusOr<std::vector<int>> CheckStructure(const ModelProto& model, const Limits& limits);

}  // namespace quotient::onnx
