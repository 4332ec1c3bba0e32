#pragma once

// Which vertex of a graph all paths to another go through, nearest to it: Lengauer and Tarjan's
// algorithm, O(m log n). Reference: T. Lengauer, R. E. Tarjan, "A fast algorithm for finding
// dominators in a flowgraph", TOPLAS 1(1), 1979.

#include <cstdint>
#include <vector>

#include "core/egraph/grouped_list.h"

namespace quotient::extract {

struct DominatorTree {
  // Vertices that the start reaches, itself first; each behind its dominators.
  std::vector<uint32_t> order;
  // By position in `order`: that of the nearest dominator. The start's own is 0.
  std::vector<uint32_t> parent;
};

// `successors` by vertex. No recursion.
DominatorTree Dominators(const egraph::GroupedList<uint32_t>& successors, uint32_t start);

}  // namespace quotient::extract
