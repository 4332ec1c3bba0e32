#pragma once

// Graphs of every kind that the backend passes to cuDNN, small enough to be computed by plain
// loops.

#include <string>
#include <vector>

#include "core/kernels/cuda/interface/dnn_graph.h"
#include "core/model/dtype.h"

namespace quotient::kernels::cuda {

struct DnnCase {
  std::string name;
  DnnGraph graph;
};

// The cases with all tensors of `type`, which is float32, float16 or bfloat16. Names do not depend
// on the type.
std::vector<DnnCase> DnnCases(model::DType type, MathPolicy policy);

}  // namespace quotient::kernels::cuda
