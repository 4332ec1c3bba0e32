#pragma once

// Which nodes of a graph run as one kernel, in which layouts, and what is free: one function for
// predicting and for executing.

#include <vector>

#include "absl/status/statusor.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/graph.h"

namespace quotient::kernels {

struct PartitionOptions {
  int threads = 1;
  // Convolution libraries of CPUs and of GPUs want it; off: everything plain.
  bool channels_last = true;
  Storage storage = Storage::kWide;
  // Attention is one kernel (attention.h): of libraries of GPUs. Off: its nodes are kernels each.
  bool fuses_attention = false;
};

// The kernels of the live nodes of a static, folded graph, in an order that can be executed: each
// node exactly once. Nodes that cost nothing (views that the memory plan makes free) form groups
// whose spec says so. Opaque nodes, and nodes behind them whose types nobody knows, are left out.
// SHAPE_MISSING naming the node for any other type that is not static.
absl::StatusOr<std::vector<KernelGroup>> PartitionGraph(const model::Graph& graph,
                                                        const PartitionOptions& options);

// The constant_footprint_log2 that PartitionGraph gives the kernels of this graph.
int ConstantFootprintLog2(const model::Graph& graph, Storage storage);

// Whether `node` runs as a kernel here: not opaque, all types static.
bool RunsAsKernel(const model::Graph& graph, const model::Node& node);

// What crosses the border of the part of a graph that runs: an executable's inputs and outputs.
struct GraphBorder {
  // Inputs of the graph that are read, then outputs of nodes that do not run that are read.
  std::vector<model::ValueId> inputs;
  // Outputs of the graph that are computed, then inputs of nodes that do not run that are computed.
  std::vector<model::ValueId> outputs;
};
GraphBorder FindBorder(const model::Graph& graph, const std::vector<KernelGroup>& groups);

}  // namespace quotient::kernels
