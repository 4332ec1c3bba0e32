#pragma once

// A whole graph as a list of kernels with their buffers.

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/kernels/onednn/constant_pool.h"
#include "core/model/graph.h"

namespace quotient::kernels::onednn {

// Compiles the live part of a static, folded graph. Errors name the node. `constants` may die
// before the executable.
absl::StatusOr<std::unique_ptr<Executable>> CompileExecutable(const model::Graph& graph,
                                                              const PartitionOptions& partition,
                                                              ConstantPool& constants);

}  // namespace quotient::kernels::onednn
