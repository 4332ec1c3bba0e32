#pragma once

#include "core/model/graph.h"

namespace quotient::prove {

// Whether a node reads nothing at indices. The evaluator does not look at these then, but runtimes
// do, and so does a node that reads rows of what is not empty in its place. So a difference in such
// a graph says nothing about a rule. All types have sizes.
bool HasIdleIndices(const model::Graph& graph);

}  // namespace quotient::prove
