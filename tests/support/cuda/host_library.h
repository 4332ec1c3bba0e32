#pragma once

// What cuBLASLt and cuDNN compute, by plain loops in double precision on the host's memory.

#include <span>

#include "absl/status/status.h"
#include "core/kernels/cuda/dnn_graph.h"
#include "core/kernels/cuda/matmul_problem.h"

namespace quotient::kernels::cuda {

// Buffers as MatmulProblem and DnnGraph say. `rounded`: factors are rounded to TF32 first.
void ComputeOnHost(const MatmulProblem& problem, std::span<void* const> buffers, bool rounded);
// INTERNAL for an operation that does not exist.
absl::Status ComputeOnHost(const DnnGraph& graph, std::span<void* const> buffers, bool rounded);

}  // namespace quotient::kernels::cuda
