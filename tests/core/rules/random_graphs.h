#pragma once

// Makes small random graphs for the soundness test: images and sequences of odd sizes, with groups,
// strides, pads, dilations, broadcast constants and several element types. Equal seeds give equal
// graphs.

#include <cstdint>

#include "core/model/graph.h"

namespace quotient::rules {

// The graph is static, its types are inferred, and every value that no node reads is an output.
// Inputs and constants have the type `dtype`.
model::Graph RandomGraph(uint64_t seed, int num_nodes, model::DType dtype = model::DType::kFloat32);

// The same around a static graph with inferred types: up to `num_nodes` more nodes read its values.
// Its outputs are outputs.
model::Graph RandomGraphAround(const model::Graph& base, uint64_t seed, int num_nodes);

}  // namespace quotient::rules
