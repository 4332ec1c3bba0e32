#pragma once

// Graphs that may have what a guard refuses. Random variations (core/prove/variation.h) mostly keep
// what the rules of a case ask for: the numbers of constants, and which operand broadcasts which.
// These change it.

#include <optional>

#include "core/base/rng.h"
#include "core/model/graph.h"

namespace quotient::prove {

// Changes one thing of a graph whose types are static: the numbers or the shape of a constant or
// an attribute, the element type of all floats, a constant into an input or an input into a
// constant, two inputs into one, the shape of an input; or adds an operator that is a step or
// singular at zero behind a value, or one that makes an input tiny. Types are inferred anew.
// Nullopt if the operators do not accept the result, or if there is no such thing in the graph.
std::optional<model::Graph> Provoked(const model::Graph& graph, Rng& rng);

}  // namespace quotient::prove
