#pragma once

// Builds the graph of a model whose structure and tensors were checked.

#include <vector>

#include "absl/status/statusor.h"
#include "core/model/graph.h"
#include "core/onnx/read_options.h"
#include "core/onnx/skeleton.h"

namespace quotient::onnx {

// `order` is the topological order of the main graph's nodes. Fills in the skeleton's constants,
// inputs, inner values and objections; everything else in it must be set, except opaque_ops. Fails
// with MODEL_MALFORMED, MODEL_SHAPE or LIMIT_*.
absl::StatusOr<model::Graph> BuildGraph(const std::vector<int>& order, const ReadOptions& options,
                                        Skeleton& skeleton);

}  // namespace quotient::onnx
