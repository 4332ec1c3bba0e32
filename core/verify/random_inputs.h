#pragma once

// Random inputs that a graph's consumers can take: indices in range, those of ScatterND each once,
// masks of zeros and ones, positive numbers in front of Log and Sqrt.

#include <cstdint>
#include <vector>

#include "core/model/graph.h"

namespace quotient::verify {

// One tensor per input of a static graph, in order. The values depend on seed, the input's
// position and type, and on how it is used; nothing else.
std::vector<model::Tensor> RandomInputs(const model::Graph& graph, uint64_t seed);

}  // namespace quotient::verify
