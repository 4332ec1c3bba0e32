#pragma once

// Dynamic programming over a tree decomposition: exact for instances that are narrow, however long.
// Each bag, from the leaves up, gets a table of what partial selections of the e-nodes below look
// like from above: which classes they still need, which they provide, and, among classes that a
// cycle could go through, which lead to which.
//
// References: A. K. Goharshady, C. K. Lam, L. Parreaux, "Fast and optimal extraction for sparse
// equality graphs", OOPSLA 2024; G. Sun, Y. Zhang, H. Ni, "E-graphs as circuits, and optimal
// extraction via treewidth", 2024.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/stop.h"
#include "core/extract/instance.h"

namespace quotient::extract {

struct TreewidthLimits {
  uint32_t max_width = 13;               // Vertices of a bag, less one; at most 31.
  size_t max_entries = size_t{1} << 17;  // Per table.
  // Bounds all tables together, per e-node of the instance.
  uint64_t max_candidates_per_node = 4096;
};

struct TreewidthResult {
  // Whether it ran to completion. If so, no selection is cheaper than `choice` or, if there is
  // none, than the cutoff.
  bool complete = false;
  // Indexed by Class; acyclic; cheaper than the cutoff.
  std::optional<std::vector<Node>> choice;
};

// Finds the cheapest selection that is cheaper than `cutoff`. Gives up if the instance is wider
// than the limits, a bag has more than eight classes of strongly connected components with cycles,
// tables become too large, or `stop` fires. Deterministic unless stopped.
TreewidthResult MinimizeByTreewidth(const Instance& instance, double cutoff,
                                    const TreewidthLimits& limits, const StopCondition& stop);

}  // namespace quotient::extract
