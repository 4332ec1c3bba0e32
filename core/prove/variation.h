#pragma once

// Variations of a graph: the same operators on other shapes, with other windows and orders of axes.

#include <optional>

#include "core/base/rng.h"
#include "core/model/graph.h"

namespace quotient::prove {

// Gives some inputs and constants another axis in front, replaces numbers in their shapes, equal
// ones mostly by equal ones, from 0 to 7, and some pads, strides, dilations, groups, permutations
// and target shapes. Some windows without strides get strides. Most constants keep their elements,
// repeated or cut; others have new ones, between -2 and 2. Types are inferred anew. Nullopt if the
// operators do not accept the result, which is often so, or if a shape is not known.
std::optional<model::Graph> Varied(const model::Graph& graph, Rng& rng);

}  // namespace quotient::prove
