#pragma once

// A whole graph as a list of kernels with their buffers.

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/kernels/shared_constants.h"
#include "core/model/graph.h"

namespace quotient::kernels::onednn {

// Packed constants, shared by all executables of a backend.
using ConstantPool = SharedConstants<std::byte>;

// Compiles the live part of a static, folded graph. Errors name the node. `constants` may die
// before the executable.
absl::StatusOr<std::unique_ptr<Executable>> CompileExecutable(const model::Graph& graph,
                                                              const PartitionOptions& partition,
                                                              ConstantPool& constants);

}  // namespace quotient::kernels::onednn
