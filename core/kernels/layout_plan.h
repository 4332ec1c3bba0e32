#pragma once

// Chooses one memory order per value of a graph so that few bytes have to be reordered.

#include <vector>

#include "core/kernels/kernel_spec.h"
#include "core/model/graph.h"

namespace quotient::kernels {

// The layout each value has by preference, by ValueId. `runs[i]`: node i is executed.
//
// Operators that are tied (LayoutRole) join their activations into components; a component takes
// the layout for which fewer bytes of its values meet operators that want the other one.
std::vector<Layout> PlanLayouts(const model::Graph& graph, const std::vector<bool>& runs);

}  // namespace quotient::kernels
