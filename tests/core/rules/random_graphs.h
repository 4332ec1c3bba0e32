#pragma once

// Small random graphs for the soundness test: images and sequences of odd sizes, groups, strides,
// pads, dilations, broadcast constants, several element types. The same seed gives the same graph.

#include <cstdint>

#include "core/model/graph.h"

namespace quotient::rules {

// Static, types inferred, every value that nobody reads is an output. Inputs and constants are
// floats of that type.
model::Graph RandomGraph(uint64_t seed, int num_nodes, model::DType dtype = model::DType::kFloat32);

}  // namespace quotient::rules
