#pragma once

// Graphs that the backend asks cuDNN for, one of each kind, small enough to be computed by loops.

#include <string>
#include <vector>

#include "core/kernels/cuda/dnn_graph.h"
#include "core/model/dtype.h"

namespace quotient::kernels::cuda {

struct DnnCase {
  std::string name;
  DnnGraph graph;
};

// With all tensors of `type`: float32, float16 or bfloat16. Names are the same for all types.
std::vector<DnnCase> DnnCases(model::DType type, MathPolicy policy);

}  // namespace quotient::kernels::cuda
