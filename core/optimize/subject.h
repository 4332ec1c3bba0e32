#pragma once

// Subject: a model as a device runs it.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/model/graph.h"
#include "core/model/tensor.h"
#include "core/verify/cut.h"

namespace quotient::optimize {

// A graph, and the file that it was read from.
struct Subject {
  const model::Graph& read;  // All of the file; `cut` is what is understood of it.
  const verify::CutGraph& cut;
  kernels::ModelFile file;  // Borrowed.
  int kept_values = 0;      // How many outputs of `read` the file does not have: onnx::Model.
};

// The inputs of a file that are inputs of its cut.
std::vector<kernels::FileValue> InputsOfFile(const verify::CutGraph& cut);

// Compiles the graph, or the file for devices that run files, and sets the inputs. `inputs` are
// those of the cut's graph, in its order; an executable wants only those that something reads.
// Returns the errors of the backend. Must be called in the timing lane.
absl::StatusOr<std::unique_ptr<kernels::Executable>> CompileSubject(
    const Subject& subject, const std::vector<model::Tensor>& inputs,
    const kernels::Backend& backend, const kernels::PlanChoice& plans);

}  // namespace quotient::optimize
