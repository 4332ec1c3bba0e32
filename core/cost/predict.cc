#include <utility>

#include "core/base/status_macros.h"
#include "core/cost/cost_model.h"

namespace quotient::cost {

absl::string_view CostSourceName(CostSource source) {
  switch (source) {
    case CostSource::kMeasured:
      return "measured";
    case CostSource::kModel:
      return "estimated";
    case CostSource::kFree:
      return "free";
  }
  return "estimated";
}

absl::StatusOr<GraphCost> PredictGraph(const model::Graph& graph, CostModel& model,
                                       const StopCondition& stop) {
  GraphCost result;
  QUOTIENT_ASSIGN_OR_RETURN(result.groups, kernels::PartitionGraph(graph, model.partition()));
  // Requesting all of them first lets the service measure them together.
  for (const kernels::KernelGroup& group : result.groups) model.Request(group.spec);
  model.Wait(stop);
  return AtPresent(std::move(result), model);
}

GraphCost AtPresent(GraphCost graph, CostModel& model) {
  graph.costs.clear();
  graph.total_us = 0;
  for (const kernels::KernelGroup& group : graph.groups) {
    graph.costs.push_back(model.Estimate(group.spec));
    graph.total_us += graph.costs.back().us;
  }
  return graph;
}

}  // namespace quotient::cost
