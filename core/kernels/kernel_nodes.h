#pragma once

// Which nodes of a graph run as one kernel: the first half of PartitionGraph.

#include <optional>
#include <vector>

#include "core/kernels/attention.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/graph.h"

namespace quotient::kernels {

struct KernelNodes {
  // The main node and the chain of element-wise nodes behind it, or those of the attention.
  std::vector<model::NodeId> nodes;
  std::optional<Attention> attention;
};

// Each node that runs once. A kernel stands where its last node does: then all that it reads is
// there.
std::vector<KernelNodes> FindKernels(const model::Graph& graph, const std::vector<bool>& runs,
                                     bool fuses_attention);

// What a node reads, types and constness alone; trailing left-out inputs do not count.
std::vector<Operand> BareOperands(const model::Graph& graph, const model::Node& node);

// The first place at which a node reads a value that it reads.
int InputPosition(const model::Node& node, model::ValueId value);

}  // namespace quotient::kernels
