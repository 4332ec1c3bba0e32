#include "core/kernels/kernel_nodes.h"

#include <algorithm>
#include <utility>

#include "core/kernels/fusion.h"

namespace quotient::kernels {
namespace {

using model::Graph;
using model::Node;
using model::NodeId;
using model::ValueId;

// How the running nodes read each value, and whether something else needs it, too.
struct Readers {
  std::vector<std::vector<NodeId>> by_value;  // Has a node once per input that reads the value.
  std::vector<bool> escapes;                  // Graph output, or read by a node that does not run.
};

Readers FindReaders(const Graph& graph, const std::vector<bool>& runs) {
  Readers readers{std::vector<std::vector<NodeId>>(graph.values.size()),
                  std::vector<bool>(graph.values.size(), false)};
  const std::vector<bool> live = model::LiveNodes(graph);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId id : graph.nodes[i].inputs) {
      if (!id.valid()) continue;
      if (runs[i])
        readers.by_value[id.value()].push_back(NodeId(i));
      else if (live[i])
        readers.escapes[id.value()] = true;
    }
  }
  for (ValueId id : graph.outputs) readers.escapes[id.value()] = true;
  return readers;
}

class KernelFinder {
 public:
  KernelFinder(const Graph& graph, const std::vector<bool>& runs, const RuntimeFusions* runtime)
      : graph_(graph),
        runs_(runs),
        runtime_(runtime),
        readers_(FindReaders(graph, runs)),
        taken_(graph.nodes.size(), false) {}

  // Adds the attentions among the nodes that are in no kernel yet.
  void AddAttentions() {
    const auto sole_reader = [this](ValueId value) -> std::optional<NodeId> {
      const std::optional<NodeId> reader = SoleReaderOf(value);
      return reader && !IsTaken(*reader) && !IsTaken(graph_.value(value).producer) ? reader
                                                                                   : std::nullopt;
    };
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!runs_[i]) continue;
      std::optional<Attention> found = FindAttention(graph_, NodeId(i), sole_reader);
      if (!found) continue;
      for (const NodeId node : found->nodes) taken_[node.value()] = true;
      std::vector<NodeId> nodes = found->nodes;
      kernels_.push_back({std::move(nodes), std::move(found)});
    }
  }

  void AddChains() {
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!runs_[i] || taken_[i]) continue;
      std::vector<NodeId> chain{NodeId(i)};
      taken_[i] = true;
      while (const std::optional<NodeId> next = NextInChain(chain)) {
        if (IsTaken(*next)) break;
        taken_[next->value()] = true;
        chain.push_back(*next);
      }
      kernels_.push_back({std::move(chain), std::nullopt});
    }
  }

  std::vector<KernelNodes> Kernels() && {
    std::sort(kernels_.begin(), kernels_.end(), [](const KernelNodes& a, const KernelNodes& b) {
      return a.nodes.back() < b.nodes.back();
    });
    return std::move(kernels_);
  }

 private:
  bool IsTaken(NodeId node) const { return node.valid() && taken_[node.value()]; }

  std::optional<NodeId> SoleReaderOf(ValueId value) const {
    const std::vector<NodeId>& readers = readers_.by_value[value.value()];
    if (readers.size() != 1 || readers_.escapes[value.value()]) return std::nullopt;
    return readers[0];
  }

  // The only reader of the chain's result, if it fuses behind the chain.
  std::optional<NodeId> NextInChain(const std::vector<NodeId>& chain) const {
    const Node& main = graph_.node(chain.front());
    const Node& last = graph_.node(chain.back());
    if (chain.size() > kMaxEpilogue || last.outputs.size() != 1) return std::nullopt;
    const ValueId value = last.outputs[0];
    const std::optional<NodeId> reader = SoleReaderOf(value);
    if (!reader) return std::nullopt;
    const Node& next = graph_.node(*reader);
    if (next.outputs.size() != 1) return std::nullopt;
    if (!MayBeChainNode(next.op, next.inputs.size())) return std::nullopt;
    if (chain.size() == 1 && !IsContraction(main.op) && !IsChainMain(main)) return std::nullopt;
    const std::vector<Operand> inputs = BareOperands(graph_, next);
    const ElementwiseNode query{next.op, next.attributes, inputs,
                                graph_.value(next.outputs[0]).type, InputPosition(next, value)};
    if (!RunsAsEpilogue(runtime_, main.op, last.op, query)) return std::nullopt;
    return reader;
  }

  bool IsChainMain(const Node& node) const {
    const std::vector<Operand> inputs = BareOperands(graph_, node);
    return IsChainNode(
        ElementwiseNode{node.op, node.attributes, inputs, graph_.value(node.outputs[0]).type});
  }

  const Graph& graph_;
  const std::vector<bool>& runs_;
  const RuntimeFusions* const runtime_;
  const Readers readers_;
  std::vector<bool> taken_;
  std::vector<KernelNodes> kernels_;
};

}  // namespace

std::vector<KernelNodes> FindKernels(const Graph& graph, const std::vector<bool>& runs,
                                     bool fuses_attention, const RuntimeFusions* runtime) {
  KernelFinder finder(graph, runs, runtime);
  if (fuses_attention) finder.AddAttentions();
  finder.AddChains();
  return std::move(finder).Kernels();
}

std::vector<Operand> BareOperands(const Graph& graph, const Node& node) {
  std::vector<Operand> operands;
  for (const ValueId id : node.inputs) {
    operands.push_back(id.valid() ? Operand{graph.value(id).type, graph.is_constant(id)}
                                  : Operand{});
  }
  while (!operands.empty() && operands.back().type.dtype == model::DType::kUndefined) {
    operands.pop_back();
  }
  return operands;
}

int InputPosition(const Node& node, ValueId value) {
  return static_cast<int>(std::find(node.inputs.begin(), node.inputs.end(), value) -
                          node.inputs.begin());
}

}  // namespace quotient::kernels
