#pragma once

// The per-node parts of a report: costs before and after, and the two graphs to draw.

#include "core/cost/cost_model.h"
#include "core/model/graph.h"
#include "core/report/report.h"

namespace quotient::report {

// One graph with what its kernels cost; borrowed.
struct CostedGraph {
  const model::Graph& graph;
  const cost::GraphCost& cost;
};

// Fills report.nodes, drawn_before and drawn_after. Nodes are matched by name (by that of the first
// output where a node has none). The cost of a kernel stands at its main node; what is fused behind
// it is free.
void DescribeNodes(const CostedGraph& before, const CostedGraph& after, Report* report);

}  // namespace quotient::report
