#pragma once

// The graph that a kernel is when it stands alone.

#include <vector>

#include "absl/status/statusor.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/graph.h"
#include "core/model/tensor.h"

namespace quotient::kernels::onnxruntime {

struct KernelGraph {
  model::Graph graph;                 // Its constants are random (RandomOperand).
  std::vector<model::Tensor> inputs;  // Random, in the order of the graph's.
  int64_t constant_bytes = 0;
};

// Fails with UNIMPLEMENTED for kernels that are no operator.
absl::StatusOr<KernelGraph> GraphOfKernel(const KernelSpec& spec);

}  // namespace quotient::kernels::onnxruntime
