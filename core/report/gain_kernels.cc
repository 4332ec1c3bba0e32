#include "core/report/gain_kernels.h"

#include <algorithm>
#include <span>

#include "core/model/graph.h"

namespace quotient::report {
namespace {

using kernels::KernelGroup;
using kernels::KernelSpec;

std::vector<int> NumbersOf(const model::Graph& graph, std::span<const model::ValueId> values,
                           ValueNumbers& numbers) {
  std::vector<int> found;
  for (const model::ValueId id : values) {
    if (id.valid() && !graph.is_constant(id)) found.push_back(numbers.Of(graph.value(id).name));
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// A kernel that a device made of a file is known by its nodes alone (KernelsOfFile). It computes
// what the last of them does.
KernelGroup WithValues(const model::Graph& graph, KernelGroup group) {
  if (!group.operands.empty() || !group.results.empty() || group.nodes.empty()) return group;
  group.results = graph.node(group.nodes.back()).outputs;
  std::vector<model::ValueId> made;
  for (const model::NodeId id : group.nodes) {
    for (const model::ValueId input : graph.node(id).inputs) {
      if (std::ranges::find(made, input) == made.end()) group.operands.push_back(input);
    }
    const std::vector<model::ValueId>& outputs = graph.node(id).outputs;
    made.insert(made.end(), outputs.begin(), outputs.end());
  }
  return group;
}

// Identifies the work of a kernel. The rest that its cost depends on follows from the kernels
// around it.
std::string WorkKey(const KernelGroup& group) {
  KernelSpec spec = group.spec;
  spec.constant_footprint_log2 = 0;
  spec.free = false;
  if (!group.nodes.empty()) {
    const auto forget_layouts = [](std::vector<kernels::Operand>& operands) {
      for (kernels::Operand& operand : operands) operand.layout = kernels::Layout::kPlain;
    };
    forget_layouts(spec.inputs);
    forget_layouts(spec.outputs);
    for (kernels::Epilogue& epilogue : spec.epilogue) forget_layouts(epilogue.operands);
  }
  return kernels::KernelKey(spec);
}

// Adds those that have a cost.
void AddCosted(const CostedGraph& costed, ValueNumbers& numbers, std::vector<GainKernel>& found) {
  for (size_t i = 0; i < costed.cost.groups.size(); ++i) {
    const KernelGroup group = WithValues(costed.graph, costed.cost.groups[i]);
    std::vector<model::ValueId> made = group.results;
    for (const model::NodeId id : group.nodes) {
      const std::vector<model::ValueId>& outputs = costed.graph.node(id).outputs;
      made.insert(made.end(), outputs.begin(), outputs.end());
    }
    found.push_back({.graph = &costed,
                     .group = &costed.cost.groups[i],
                     .cost = &costed.cost.costs[i],
                     .work = WorkKey(group),
                     .reads = NumbersOf(costed.graph, group.operands, numbers),
                     .results = NumbersOf(costed.graph, group.results, numbers),
                     .makes = NumbersOf(costed.graph, made, numbers)});
  }
}

// Adds the nodes that no kernel is known to compute.
void AddOtherNodes(const CostedGraph& costed, ValueNumbers& numbers,
                   std::vector<GainKernel>& found) {
  std::vector<bool> has_kernel(costed.graph.nodes.size());
  for (const KernelGroup& group : costed.cost.groups) {
    for (const model::NodeId id : group.nodes) has_kernel[id.value()] = true;
  }
  for (size_t n = 0; n < has_kernel.size(); ++n) {
    if (has_kernel[n]) continue;
    const model::Node& node = costed.graph.nodes[n];
    const std::vector<int> outputs = NumbersOf(costed.graph, node.outputs, numbers);
    found.push_back({.graph = &costed,
                     .work = node.op,
                     .reads = NumbersOf(costed.graph, node.inputs, numbers),
                     .results = outputs,
                     .makes = outputs});
  }
}

}  // namespace

void AddKernels(const CostedGraph& costed, ValueNumbers& numbers, std::vector<GainKernel>& found) {
  AddCosted(costed, numbers, found);
  AddOtherNodes(costed, numbers, found);
}

}  // namespace quotient::report
