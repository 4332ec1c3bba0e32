#pragma once

// Dominator tree of a graph: for each vertex the nearest other vertex that all paths to it go
// through. Lengauer and Tarjan's algorithm, O(m log n). Reference: T. Lengauer, R. E. Tarjan, "A
// fast algorithm for finding dominators in a flowgraph", TOPLAS 1(1), 1979.

#include <cstdint>
#include <vector>

#include "core/egraph/grouped_list.h"

namespace quotient::extract {

struct DominatorTree {
  // Vertices that the start reaches, itself first; each after its dominators.
  std::vector<uint32_t> order;
  // By position in `order`, the position of the nearest dominator. The start's own is 0.
  std::vector<uint32_t> parent;
};

// `successors` is indexed by vertex. No recursion.
DominatorTree Dominators(const egraph::GroupedList<uint32_t>& successors, uint32_t start);

}  // namespace quotient::extract
