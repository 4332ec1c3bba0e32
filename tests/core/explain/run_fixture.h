#pragma once

// A graph with kernels as a runtime would make them, for tests without the runtime.

#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/model/graph.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::explain {

inline model::Graph GraphOf(const std::string& body) {
  model::Graph graph = testing::MustParse("graph g { " + body + " }");
  EXPECT_OK(ops::InferTypes(graph));
  return graph;
}

// A kernel: its operator, and the values that its known nodes compute.
struct MadeKernel {
  std::string op;  // "ort:com.microsoft.nchwc:Conv"
  std::vector<std::string> values;
  double us = 1;
  std::vector<kernels::Operand> inputs = {};
  std::vector<kernels::Operand> outputs = {};
};

inline cost::GraphCost CostOf(const model::Graph& graph, const std::vector<MadeKernel>& kernels) {
  cost::GraphCost cost;
  for (const MadeKernel& kernel : kernels) {
    kernels::KernelGroup& group = cost.groups.emplace_back();
    group.spec.op = kernel.op;
    group.spec.inputs = kernel.inputs;
    group.spec.outputs = kernel.outputs;
    for (const std::string& value : kernel.values) {
      group.nodes.push_back(graph.value(testing::MustFind(graph, value)).producer);
    }
    cost.costs.push_back({.us = kernel.us, .source = cost::CostSource::kMeasured});
    cost.total_us += kernel.us;
  }
  return cost;
}

}  // namespace quotient::explain
