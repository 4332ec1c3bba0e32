#pragma once

// Decides which nodes of a graph run as one kernel, in which layouts, and which are free.
// Prediction and execution both use it.

#include <vector>

#include "absl/status/statusor.h"
#include "core/kernels/kernel_spec.h"
#include "core/kernels/runtime_fusions.h"
#include "core/model/graph.h"

namespace quotient::kernels {

struct PartitionOptions {
  int threads = 1;
  // Convolution libraries of CPUs and GPUs want channels last. If off, everything is plain.
  bool channels_last = true;
  Storage storage = Storage::kWide;
  // Whether attention is one kernel (attention.h), as in GPU libraries. If off, each of its nodes
  // is in a kernel of its own.
  bool fuses_attention = false;
  // What the device itself fuses and blocks, where it optimizes graphs; layouts are its own then.
  // Null where fusion.h and layout_plan.h decide. Borrowed.
  const RuntimeFusions* runtime = nullptr;
};

// The kernels of the live nodes of a static, folded graph, in an executable order; each node is in
// exactly one. Nodes that cost nothing (views that the memory plan makes free) form groups whose
// spec is free. Opaque nodes, and nodes behind them with unknown types, are left out. Fails with
// SHAPE_MISSING, naming the node, for any other type that is not static.
absl::StatusOr<std::vector<KernelGroup>> PartitionGraph(const model::Graph& graph,
                                                        const PartitionOptions& options);

// The constant_footprint_log2 that PartitionGraph gives the kernels of this graph.
int ConstantFootprintLog2(const model::Graph& graph, Storage storage);

// Whether `node` runs as a kernel: it is not opaque, and all types are static.
bool RunsAsKernel(const model::Graph& graph, const model::Node& node);

// The values that enter and leave the part of a graph that runs: inputs and outputs of its
// executable.
struct GraphBorder {
  // Graph inputs that are read, then outputs that are read of nodes that do not run.
  std::vector<model::ValueId> inputs;
  // Graph outputs that are computed, then inputs that are computed of nodes that do not run.
  std::vector<model::ValueId> outputs;
};
GraphBorder FindBorder(const model::Graph& graph, const std::vector<KernelGroup>& groups);

}  // namespace quotient::kernels
