#pragma once

#include <string>

#include "core/egraph/egraph.h"

namespace quotient::testing {

// All that can be seen of a clean e-graph: a line per live e-node with its class, number, operator,
// children and origin. Equal texts: the same e-graph, with the same ids.
std::string TextOf(const egraph::EGraph& graph);

}  // namespace quotient::testing
