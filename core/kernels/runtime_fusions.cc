#include "core/kernels/runtime_fusions.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "core/kernels/kernel_nodes.h"

namespace quotient::kernels {

bool RunsAsEpilogue(const RuntimeFusions* runtime, absl::string_view main_op,
                    absl::string_view before, const ElementwiseNode& node) {
  if (runtime == nullptr) return FusesAsEpilogue(main_op, node);
  return IsChainNode(node) && node.inputs[node.running].type == node.output &&
         runtime->Fuses(main_op, before, node);
}

namespace {

class BlockingFinder {
 public:
  BlockingFinder(const model::Graph& graph, const RuntimeFusions& fusions)
      : graph_(graph),
        fusions_(fusions),
        blocking_(graph.nodes.size(), Blocking::kNever),
        blocked_(graph.values.size(), false),
        main_(graph.values.size()),
        readers_(graph.values.size(), 0) {
    for (const model::Node& node : graph.nodes) {
      for (const model::ValueId id : node.inputs) {
        if (id.valid()) ++readers_[id.value()];
      }
    }
    for (const model::ValueId id : graph.outputs) ++readers_[id.value()];
  }

  // The nodes before it come first.
  void Add(model::NodeId id) {
    const model::Node& node = graph_.node(id);
    if (node.outputs.empty() || !node.outputs[0].valid()) return;
    Blocking& blocking = blocking_[id.value()];
    const std::vector<Operand> inputs = BareOperands(graph_, node);
    blocking =
        fusions_.BlockingOf({node.op, node.attributes, inputs, graph_.value(node.outputs[0]).type});
    const bool is_behind = IsBehindBlocked(node, inputs);
    if (blocking == Blocking::kLikeInputs) {
      blocking = AllAreBlocked(node) ? Blocking::kAlways : Blocking::kNever;
    }
    if (is_behind) blocking = Blocking::kAlways;
    const uint32_t output = node.outputs[0].value();
    blocked_[output] = blocking != Blocking::kNever;
    main_[output] = is_behind ? main_[node.inputs[0].value()] : node.op;
  }

  std::vector<Blocking> Take() && { return std::move(blocking_); }

 private:
  bool AllAreBlocked(const model::Node& node) const {
    return std::ranges::all_of(node.inputs, [&](model::ValueId id) {
      return !id.valid() || graph_.is_constant(id) || blocked_[id.value()];
    });
  }

  // Whether the node becomes part of the kernel that computes its first input, which is blocked.
  bool IsBehindBlocked(const model::Node& node, const std::vector<Operand>& inputs) const {
    if (node.inputs.empty() || !node.inputs[0].valid()) return false;
    const uint32_t value = node.inputs[0].value();
    if (!blocked_[value] || readers_[value] != 1) return false;
    const std::string& before = graph_.node(graph_.value(node.inputs[0]).producer).op;
    return RunsAsEpilogue(&fusions_, main_[value], before,
                          {node.op, node.attributes, inputs, graph_.value(node.outputs[0]).type});
  }

  const model::Graph& graph_;
  const RuntimeFusions& fusions_;
  std::vector<Blocking> blocking_;       // By node.
  std::vector<bool> blocked_;            // By value.
  std::vector<absl::string_view> main_;  // By value: the main operator of its kernel.
  std::vector<int> readers_;             // By value; an output of the graph has one more.
};

}  // namespace

std::vector<Blocking> BlockingOfNodes(const model::Graph& graph, const std::vector<bool>& runs,
                                      const RuntimeFusions& fusions) {
  BlockingFinder finder(graph, fusions);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (runs[i]) finder.Add(model::NodeId(i));
  }
  return std::move(finder).Take();
}

}  // namespace quotient::kernels
