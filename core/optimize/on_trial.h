#pragma once

// OnTrial: changes an e-graph and undoes that again.

#include "core/egraph/egraph.h"

namespace quotient::optimize {

// Calls `body`, which may change the graph. The graph, which must be clean, is as before
// afterwards, even if memory runs out in `body`.
template <typename Body>
void OnTrial(egraph::EGraph& graph, const Body& body) {
  graph.Mark();
  try {
    body();
  } catch (...) {
    graph.Rollback();
    throw;
  }
  graph.Rollback();
}

}  // namespace quotient::optimize
