#pragma once

#include <string>

#include "core/egraph/egraph.h"

namespace quotient::testing {

// The visible state of a clean e-graph as text: one line per live e-node with its class, number,
// operator, children and origin. Equal texts mean equal e-graphs with equal ids.
std::string TextOf(const egraph::EGraph& graph);

}  // namespace quotient::testing
