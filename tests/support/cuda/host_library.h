#pragma once

// Computes what cuBLASLt and cuDNN compute, by plain loops in double precision on host memory.

#include <span>

#include "absl/status/status.h"
#include "core/kernels/cuda/interface/dnn_graph.h"
#include "core/kernels/cuda/interface/matmul_problem.h"

namespace quotient::kernels::cuda {

// MatmulProblem and DnnGraph describe the buffers. If `rounded`, factors are rounded to TF32 first.
void ComputeOnHost(const MatmulProblem& problem, std::span<void* const> buffers, bool rounded);
// INTERNAL for an unknown operation.
absl::Status ComputeOnHost(const DnnGraph& graph, std::span<void* const> buffers, bool rounded);

}  // namespace quotient::kernels::cuda
