#include "core/kernels/runtime_fusions.h"

#include <algorithm>

#include "core/kernels/kernel_nodes.h"

namespace quotient::kernels {

bool RunsAsEpilogue(const RuntimeFusions* runtime, absl::string_view main_op,
                    absl::string_view before, const ElementwiseNode& node) {
  if (runtime == nullptr) return FusesAsEpilogue(main_op, node);
  return IsChainNode(node) && node.inputs[node.running].type == node.output &&
         runtime->Fuses(before, node);
}

namespace {

// Whether the node becomes part of what computes its first input, which is blocked.
bool GoesBehindBlocked(const model::Graph& graph, const model::Node& node,
                       const std::vector<Operand>& inputs, const std::vector<bool>& blocked,
                       const RuntimeFusions& fusions) {
  if (node.inputs.empty() || !node.inputs[0].valid() || !blocked[node.inputs[0].value()]) {
    return false;
  }
  const model::Node& before = graph.node(graph.value(node.inputs[0]).producer);
  return RunsAsEpilogue(&fusions, before.op, before.op,
                        {node.op, node.attributes, inputs, graph.value(node.outputs[0]).type});
}

}  // namespace

std::vector<Blocking> BlockingOfNodes(const model::Graph& graph, const std::vector<bool>& runs,
                                      const RuntimeFusions& fusions) {
  std::vector<Blocking> blocking(graph.nodes.size(), Blocking::kNever);
  std::vector<bool> blocked(graph.values.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const model::Node& node = graph.nodes[i];
    if (!runs[i] || node.outputs.empty() || !node.outputs[0].valid()) continue;
    const std::vector<Operand> inputs = BareOperands(graph, node);
    blocking[i] =
        fusions.BlockingOf({node.op, node.attributes, inputs, graph.value(node.outputs[0]).type});
    if (blocking[i] == Blocking::kNever &&
        GoesBehindBlocked(graph, node, inputs, blocked, fusions)) {
      blocking[i] = Blocking::kAlways;
    } else if (blocking[i] == Blocking::kLikeInputs) {
      const bool all = std::ranges::all_of(node.inputs, [&](model::ValueId id) {
        return !id.valid() || graph.is_constant(id) || blocked[id.value()];
      });
      blocking[i] = all ? Blocking::kAlways : Blocking::kNever;
    }
    blocked[node.outputs[0].value()] = blocking[i] != Blocking::kNever;
  }
  return blocking;
}

}  // namespace quotient::kernels
