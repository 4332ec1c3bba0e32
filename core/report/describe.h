#pragma once

// Fills in the per-node parts of a report: costs before and after, and the two graphs to draw.

#include <string>

#include "core/cost/cost_model.h"
#include "core/model/graph.h"
#include "core/report/report.h"

namespace quotient::report {

// A graph and the costs of its kernels, both borrowed.
struct CostedGraph {
  const model::Graph& graph;
  const cost::GraphCost& cost;
};

// The node's name; that of its first output if it has none.
std::string NameOfNode(const model::Graph& graph, const model::Node& node);

// Fills report->nodes, drawn_before and drawn_after. Nodes of the two graphs are matched by name,
// or by the name of their first output if they have none. The cost of a kernel is given to its main
// node; the other nodes of the kernel are free.
void DescribeNodes(const CostedGraph& before, const CostedGraph& after, Report* report);

}  // namespace quotient::report
