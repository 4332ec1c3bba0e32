#pragma once

// The graph of a checked model.

#include <vector>

#include "absl/status/statusor.h"
#include "core/model/graph.h"
#include "core/onnx/read_options.h"
#include "core/onnx/skeleton.h"

namespace quotient::onnx {

// `order`: of the main graph's nodes. Fills in the skeleton's constants, inputs and opaque
// operators, and objections; all else in it must be set. MODEL_MALFORMED, MODEL_SHAPE, LIMIT_*.
absl::StatusOr<model::Graph> BuildGraph(const std::vector<int>& order, const ReadOptions& options,
                                        Skeleton& skeleton);

}  // namespace quotient::onnx
