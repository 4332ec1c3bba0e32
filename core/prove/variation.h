#pragma once

// Variations of a graph: the same operators on other shapes, with other windows and orders of axes.

#include <optional>

#include "core/base/rng.h"
#include "core/model/graph.h"

namespace quotient::prove {

// Replaces numbers in the shapes of inputs and constants, equal ones mostly by equal ones, from 0
// to 7, and some pads, strides, dilations, groups, permutations and target shapes. Constants keep
// their elements, repeated or cut. Types are inferred anew. Nullopt if the operators do not accept
// the result, which is often so, or if a shape is not known.
std::optional<model::Graph> Varied(const model::Graph& graph, Rng& rng);

}  // namespace quotient::prove
