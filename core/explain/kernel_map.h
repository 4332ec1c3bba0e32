#pragma once

// Which nodes of a model each kernel of a device computes.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/cost/cost_model.h"
#include "core/model/graph.h"

namespace quotient::explain {

// The operator of a kernel without the runtime's prefix and domain: "Conv", "FusedGemm".
absl::string_view OperatorOf(const kernels::KernelSpec& spec);
// Whether the kernel keeps its activations in the runtime's blocked layout.
bool IsBlocked(const kernels::KernelSpec& spec);
// The operator that a fused kernel is one of: "Gemm" for "FusedGemm".
absl::string_view MainOperator(absl::string_view op);

struct KernelMap {
  // By kernel, which is an index into GraphCost::groups: the nodes, in the order of the graph.
  // Empty for changes of layout, and for kernels that come from no node that is known.
  std::vector<std::vector<model::NodeId>> nodes;
  // By node: its kernel. Nullopt for nodes that the device has removed.
  std::vector<std::optional<size_t>> kernel_of;
};

// The kernels of a file are known by the node whose value they compute, at best with some before it
// (optimize/file_cost.h). The others are found in the graph: a node without a kernel belongs to
// that which alone reads its value, until this has got the node whose operator it is named after;
// else, if it is element-wise, it was taken into the last kernel that computes one of its operands,
// where that is a Conv or a Gemm.
KernelMap MapKernels(const model::Graph& graph, const cost::GraphCost& cost);

}  // namespace quotient::explain
