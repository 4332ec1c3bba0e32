#pragma once

// Dynamic programming over a tree decomposition: exact where an instance is narrow, however long it
// is. Per bag, from the leaves up, a table of what partial selections of the e-nodes below look
// like from above: which classes they still need, which they provide, and which of those that a
// cycle could go through lead to which.
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
  uint32_t max_width = 13;                  // of bags, less one; at most 31
  size_t max_entries = size_t{1} << 17;     // of a table
  uint64_t max_candidates_per_node = 4096;  // of all tables, for each e-node of the instance
};

struct TreewidthResult {
  // Did it come to its end? Then no selection is cheaper than `choice` or, if that is nothing, than
  // the cutoff.
  bool complete = false;
  // By Class; acyclic; cheaper than the cutoff.
  std::optional<std::vector<Node>> choice;
};

// Looks for the cheapest selection that is cheaper than `cutoff`. Gives up where the instance is
// wider than the limits, more than eight classes of strongly connected components are in one bag,
// tables become too large, or `stop` says so. Deterministic unless stopped.
TreewidthResult MinimizeByTreewidth(const Instance& instance, double cutoff,
                                    const TreewidthLimits& limits, const StopCondition& stop);

}  // namespace quotient::extract
