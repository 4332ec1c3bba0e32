#pragma once

// Graphs as files.

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/model/graph.h"

namespace quotient::kernels::onnxruntime {

struct WrittenGraph {
  ModelFile file;  // Owns its bytes, and the constants of the graph.
  FileValues values;
};

// Writes a static graph as a model. Fails with UNIMPLEMENTED if it has opaque nodes, and as
// onnx::Write does.
absl::StatusOr<WrittenGraph> WriteGraph(const model::Graph& graph);

}  // namespace quotient::kernels::onnxruntime
