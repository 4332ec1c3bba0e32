#pragma once

// A whole graph as a list of kernels with their buffers.

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/model/graph.h"

namespace quotient::kernels::onednn {

// Compiles the live part of a static, folded graph. Errors name the node.
absl::StatusOr<std::unique_ptr<Executable>> CompileExecutable(const model::Graph& graph,
                                                              const PartitionOptions& partition);

}  // namespace quotient::kernels::onednn
