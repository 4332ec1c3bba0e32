#include "core/pricing/blocked_layouts.h"

#include <algorithm>

namespace quotient::pricing {

using egraph::ClassId;
using egraph::ENodeId;
using kernels::Blocking;
using kernels::Layout;

void BlockedLayouts::Find(std::span<const ENodeKernel> enodes) {
  changes_.clear();
  num_enodes_ = enodes.size();
  if (kernels_.partition().runtime == nullptr) return;
  FindBlocked(enodes);
  if (std::ranges::find(blocked_, true) == blocked_.end()) return;
  FindWanted(enodes);
  for (uint32_t i = 0; i < enodes.size(); ++i) {
    if (enodes[i].is_left) AddChanges(ENodeId(i), enodes[i].blocking);
  }
}

bool BlockedLayouts::IsImage(ClassId cls) const {
  const domain::ClassData& data = tensors_.domain->data(*tensors_.egraph, cls);
  return !data.runs_as_constant() && data.measured.is_static() && kernels::HasLayout(data.measured);
}

bool BlockedLayouts::Blocks(ENodeId node, Blocking blocking) const {
  if (blocking != Blocking::kLikeInputs) return blocking != Blocking::kNever;
  const egraph::EGraph& graph = *tensors_.egraph;
  return std::ranges::all_of(graph.node(node).children, [&](ClassId child) {
    child = graph.Find(child);
    return blocked_[child.value()] || tensors_.domain->data(graph, child).runs_as_constant() ||
           tensors_.domain->data(graph, child).absent;
  });
}

// The least set of classes, so that a cycle of e-nodes does not justify itself.
void BlockedLayouts::FindBlocked(std::span<const ENodeKernel> enodes) {
  const egraph::EGraph& graph = *tensors_.egraph;
  blocked_.assign(graph.class_bound(), false);
  std::vector<ENodeId> open;
  for (uint32_t i = 0; i < enodes.size(); ++i) {
    if (enodes[i].blocking != Blocking::kNever) open.push_back(ENodeId(i));
  }
  for (size_t before = open.size() + 1; open.size() < before;) {
    before = open.size();
    std::erase_if(open, [&](ENodeId node) {
      if (!Blocks(node, enodes[node.value()].blocking)) return false;
      blocked_[graph.class_of(node).value()] = true;
      return true;
    });
  }
}

void BlockedLayouts::FindWanted(std::span<const ENodeKernel> enodes) {
  const egraph::EGraph& graph = *tensors_.egraph;
  wanted_.assign(graph.class_bound(), false);
  for (uint32_t i = 0; i < enodes.size(); ++i) {
    const Blocking blocking = enodes[i].blocking;
    if (blocking == Blocking::kNever || blocking == Blocking::kFromPlain) continue;
    const ENodeId node(i);
    if (!Blocks(node, blocking)) continue;
    for (const ClassId child : graph.node(node).children) {
      wanted_[graph.Find(child).value()] = true;
      if (blocking == Blocking::kAlways) break;  // The others are weights.
    }
  }
}

void BlockedLayouts::AddChanges(ENodeId node, Blocking blocking) {
  const egraph::EGraph& graph = *tensors_.egraph;
  const bool blocks = Blocks(node, blocking);
  if (!blocks || blocking == Blocking::kFromPlain) {
    std::vector<ClassId> read;
    for (ClassId child : graph.node(node).children) {
      child = graph.Find(child);
      if (!blocked_[child.value()] || std::ranges::find(read, child) != read.end()) continue;
      read.push_back(child);
      AddChange(node, child, Layout::kChannelsLast, Layout::kPlain);
    }
  }
  const ClassId value = graph.class_of(node);
  if (!blocks && wanted_[value.value()]) {
    AddChange(node, value, Layout::kPlain, Layout::kChannelsLast);
  }
}

void BlockedLayouts::AddChange(ENodeId node, ClassId value, Layout from, Layout to) {
  if (!IsImage(value)) return;
  const domain::ClassData& data = tensors_.domain->data(*tensors_.egraph, value);
  if (kernels::SameMemory(data.measured, from, to)) return;
  changes_.push_back({node, kernels_.IndexOfReorder(data.measured, from, to)});
}

std::vector<double> BlockedLayouts::Costs() const {
  std::vector<double> costs(num_enodes_, 0);
  for (const Change& change : changes_) {
    // It is possible whatever is known of it.
    costs[change.node.value()] += kernels_.CostOf(change.kernel, true);
  }
  return costs;
}

void BlockedLayouts::AddKernels(std::span<const ENodeId> nodes, std::vector<int>* kernels) const {
  for (const ENodeId node : nodes) {
    for (auto change = std::ranges::lower_bound(changes_, node, {}, &Change::node);
         change != changes_.end() && change->node == node; ++change) {
      kernels->push_back(change->kernel);
    }
  }
}

}  // namespace quotient::pricing
