#pragma once

// The first half of PartitionGraph: decides which nodes of a graph run as one kernel.

#include <optional>
#include <vector>

#include "core/kernels/attention.h"
#include "core/kernels/kernel_spec.h"
#include "core/kernels/runtime_fusions.h"
#include "core/model/graph.h"

namespace quotient::kernels {

struct KernelNodes {
  // The main node and the chain of element-wise nodes behind it, or the nodes of the attention.
  std::vector<model::NodeId> nodes;
  std::optional<Attention> attention;
};

// Groups the nodes with `runs` set; each is in one group. A kernel takes the place of its last
// node, because everything it reads exists by then. `runtime` is as in PartitionOptions.
std::vector<KernelNodes> FindKernels(const model::Graph& graph, const std::vector<bool>& runs,
                                     bool fuses_attention, const RuntimeFusions* runtime);

// The operands that a node reads, with only types and constness. Omits inputs left out at the end.
std::vector<Operand> BareOperands(const model::Graph& graph, const model::Node& node);

// The first position at which a node reads a value, which it must read.
int InputPosition(const model::Node& node, model::ValueId value);

}  // namespace quotient::kernels
